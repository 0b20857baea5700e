//! mimalloc, in C, as the crate vendors it: an archive that defines malloc.
#![no_std]

extern crate libmimalloc_sys;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
