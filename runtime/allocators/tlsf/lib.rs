//! malloc by the two-level segregated fit of the crate rlsf, behind one mutex of the C library.
//!
//! Memory comes in chunks that have all their pages from the start; none is ever given back.
#![no_std]

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::{null_mut, NonNull};
use rlsf::{Tlsf, GRANULARITY};

/// The least that is asked of the system.
const CHUNK: usize = 16 << 20;
/// Beside an object that has a chunk of its own: its header and the end of the pool. What is asked for is
/// rounded up to one of the 32 sizes of each power of two, a 32nd at most.
const BESIDE: usize = 4096;
const CHUNKS: usize = 1024;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;
/// PROT_READ | PROT_WRITE; MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE.
const READ_WRITE: i32 = 3;
const POPULATED: i32 = 0x8022;

extern "C" {
    fn pthread_mutex_lock(mutex: *mut c_void) -> i32;
    fn pthread_mutex_unlock(mutex: *mut c_void) -> i32;
    fn mmap(at: *mut c_void, bytes: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut c_void;
    fn __errno_location() -> *mut i32;
}

struct State {
    pool: Tlsf<'static, u32, u32, 28, 32>,
    chunks: [(usize, usize); CHUNKS],
    count: usize,
}

struct Shared {
    /// Of zeros, as PTHREAD_MUTEX_INITIALIZER is; larger than any C library's.
    mutex: UnsafeCell<[u64; 16]>,
    /// The holder's of the mutex.
    state: UnsafeCell<State>,
}
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    mutex: UnsafeCell::new([0; 16]),
    state: UnsafeCell::new(State {
        pool: Tlsf::new(),
        chunks: [(0, 0); CHUNKS],
        count: 0,
    }),
};

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

unsafe fn locked<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let mutex = SHARED.mutex.get() as *mut c_void;
    pthread_mutex_lock(mutex);
    let done = work(&mut *SHARED.state.get());
    pthread_mutex_unlock(mutex);
    done
}

impl State {
    unsafe fn grow(&mut self, bytes: usize) -> Option<()> {
        let bytes = bytes.checked_add(bytes / 16 + BESIDE)?.max(CHUNK);
        if self.count == CHUNKS {
            return None;
        }
        let at = mmap(null_mut(), bytes, READ_WRITE, POPULATED, -1, 0);
        if at as isize == -1 {
            return None;
        }
        let block = core::ptr::slice_from_raw_parts_mut(at as *mut u8, bytes);
        self.pool.insert_free_block_ptr(NonNull::new(block)?)?;
        self.chunks[self.count] = (at as usize, bytes);
        self.count += 1;
        Some(())
    }

    unsafe fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        if let Some(object) = self.pool.allocate(layout) {
            return Some(object);
        }
        self.grow(layout.size().checked_add(layout.align())?)?;
        self.pool.allocate(layout)
    }

    unsafe fn resize(&mut self, object: NonNull<u8>, layout: Layout) -> Option<NonNull<u8>> {
        if let Some(object) = self.pool.reallocate(object, layout) {
            return Some(object);
        }
        self.grow(layout.size().checked_add(layout.align())?)?;
        self.pool.reallocate(object, layout)
    }
}

/// rlsf finds an object's header alike for every alignment from `GRANULARITY` on (as of 0.2.3), so
/// free() need not know which it had.
fn layout_of(align: usize, bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), align.max(GRANULARITY)).ok()
}

unsafe fn given(object: Option<NonNull<u8>>) -> *mut c_void {
    match object {
        Some(object) => object.as_ptr() as *mut c_void,
        None => {
            *__errno_location() = ENOMEM;
            null_mut()
        }
    }
}

/// No entry of ours calls another: the compiler knows what those names mean.
unsafe fn taken(align: usize, bytes: usize) -> *mut c_void {
    given(layout_of(align, bytes).and_then(|layout| locked(|state| state.take(layout))))
}

#[no_mangle]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    taken(GRANULARITY, bytes)
}

#[no_mangle]
pub unsafe extern "C" fn memalign(align: usize, bytes: usize) -> *mut c_void {
    taken(align, bytes)
}

#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
    taken(align, bytes)
}

#[no_mangle]
pub unsafe extern "C" fn posix_memalign(object: *mut *mut c_void, align: usize, bytes: usize) -> i32 {
    if !align.is_power_of_two() || align % core::mem::size_of::<usize>() != 0 {
        return EINVAL;
    }
    *object = taken(align, bytes);
    if (*object).is_null() {
        ENOMEM
    } else {
        0
    }
}

#[no_mangle]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // the C library's reply to a product that does not fit is that of no memory
    let bytes = count.checked_mul(bytes).unwrap_or(usize::MAX);
    let object = taken(GRANULARITY, bytes);
    if !object.is_null() {
        core::ptr::write_bytes(object as *mut u8, 0, bytes);
    }
    object
}

#[no_mangle]
pub unsafe extern "C" fn realloc(object: *mut c_void, bytes: usize) -> *mut c_void {
    match NonNull::new(object as *mut u8) {
        None => taken(GRANULARITY, bytes),
        Some(old) => {
            given(layout_of(GRANULARITY, bytes).and_then(|layout| locked(|state| state.resize(old, layout))))
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn free(object: *mut c_void) {
    if let Some(object) = NonNull::new(object as *mut u8) {
        locked(|state| state.pool.deallocate(object, GRANULARITY));
    }
}

/// Whether it lies in one of our chunks.
#[no_mangle]
pub unsafe extern "C" fn tlsf_holds(object: *const c_void) -> bool {
    let inside = |&(at, bytes): &(usize, usize)| (object as usize).wrapping_sub(at) < bytes;
    locked(|state| state.chunks[..state.count].iter().any(inside))
}
