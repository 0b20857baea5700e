//! Two threads on one CPU: `worker` leaves its sleep out when it is late, so that jobs follow one another
//! without a call; `intruder` makes it late. Uses only the standard library, as `rustc FILE` has it.

use std::os::raw::{c_int, c_long};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[repr(C)]
struct Time(i64, c_long);

extern "C" {
    fn clock_gettime(clock: c_int, at: *mut Time) -> c_int;
    fn gettid() -> c_int;
    fn sched_setscheduler(pid: c_int, policy: c_int, priority: *const c_int) -> c_int;
    fn sched_getscheduler(pid: c_int) -> c_int;
    fn sched_setaffinity(pid: c_int, bytes: usize, mask: *const u64) -> c_int;
    fn sched_getaffinity(pid: c_int, bytes: usize, mask: *mut u64) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn alarm(seconds: u32) -> u32;
}

static ROUNDS_PER_US: AtomicU64 = AtomicU64::new(0);

fn cpu_ns() -> i64 {
    let mut at = Time(0, 0);
    unsafe { clock_gettime(3, &mut at) };
    at.0 * 1_000_000_000 + at.1 as i64
}

fn spin(rounds: u64) {
    let mut x = 1u64;
    for _ in 0..rounds {
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
}

fn calibrate() {
    spin(20_000_000);
    let mut pieces: Vec<i64> = (0..800)
        .map(|_| {
            let began = cpu_ns();
            spin(10_000);
            cpu_ns() - began
        })
        .collect();
    pieces.sort();
    ROUNDS_PER_US.store(10_000_000 / pieces[400] as u64, Relaxed);
}

/// One loop; returns its truth. `skips`: leaves the sleep out when it is late. Jobs between which it slept
/// have the largest C: others cannot be told apart.
fn task(name: &str, period: Duration, us: u64, priority: c_int, skips: bool, start: Instant, end: Instant) -> String {
    let (mut jobs, mut merged, mut sum, mut most, mut last, mut mask) = (0, 0, 0, 0, 0, 0u64);
    unsafe {
        sched_setaffinity(0, 8, &1);
        sched_setscheduler(0, 1, &priority);
    }
    let mut release = start;
    loop {
        let now = Instant::now();
        let slept = now < release || !skips;
        if slept {
            most = most.max(last);
            std::thread::sleep(release.saturating_duration_since(now));
        } else {
            merged += 1;
        }
        if release >= end && now < release {
            break;
        }
        let began = cpu_ns();
        spin(us * ROUNDS_PER_US.load(Relaxed));
        let c = cpu_ns() - began;
        (jobs, sum, last) = (jobs + 1, sum + c, if slept { c } else { 0 });
        release += period;
    }
    let policy = unsafe {
        sched_getaffinity(0, 8, &mut mask);
        if sched_getscheduler(0) == 1 { "fifo" } else { "other" }
    };
    let cpus: Vec<u32> = (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect();
    format!(
        "{{\"name\": \"{name}\", \"tid\": {}, \"kind\": \"periodic\", \"period_ns\": {}, \"jobs\": {jobs}, \
         \"merged\": {merged}, \"c_mean_ns\": {}, \"c_max_ns\": {most}, \"suspension_mean_ns\": 0, \
         \"policy\": \"{policy}\", \"priority\": {}, \"cpus\": {cpus:?}, \"sections\": []}}",
        unsafe { gettid() },
        period.as_nanos(),
        sum / jobs.max(1),
        if policy == "fifo" { priority } else { 0 },
    )
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(2.0);
    let seconds = seconds.clamp(0.05, 3600.0);
    unsafe {
        alarm(4 * seconds as u32 + 20);
        setrlimit(15, &[1_000_000, 1_000_000]); // RLIMIT_RTTIME, in microseconds
    }
    calibrate();
    let start = Instant::now() + Duration::from_millis(50);
    let end = start + Duration::from_secs_f64(seconds);
    let run = |name: &'static str, ms: u64, us: u64, priority: c_int, skips: bool| {
        let body = move || task(name, Duration::from_millis(ms), us, priority, skips, start, end);
        std::thread::Builder::new().name(name.into()).spawn(body).unwrap()
    };
    let threads = [run("worker", 10, 2000, 50, true), run("intruder", 130, 15_000, 60, false)];
    let tasks: Vec<String> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    println!("{{\"measured\": true, \"tasks\": [{}], \"chains\": []}}", tasks.join(", "));
}
