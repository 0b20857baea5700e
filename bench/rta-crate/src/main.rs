// Response times by the crate response-time-analysis. In: a line per set, "C T D" of each task,
// the most urgent first. Out: a line per set, microseconds under FP and EDF (the least of the
// rounds that the argument says), then the responses under each.
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::{arrival::Sporadic, demand::RBF, edf, fixed_priority, wcet::Scalar};
use std::io::{self, BufRead};
use std::time::Instant;

const LIMIT: u64 = 10_000_000;

fn least(rounds: u32, mut run: impl FnMut() -> Vec<u64>) -> (f64, Vec<u64>) {
    let mut best = (f64::INFINITY, Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        let found = run();
        let spent = began.elapsed().as_secs_f64() * 1e6;
        if spent < best.0 {
            best = (spent, found);
        }
    }
    best
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    for line in io::stdin().lock().lines() {
        let values: Vec<u64> = line.unwrap().split(' ').map(|x| x.parse().unwrap()).collect();
        let tasks: Vec<(RBF<Sporadic, Scalar>, Duration)> = values
            .chunks(3)
            .map(|t| {
                let arrivals = Sporadic::new_zero_jitter(Duration::from(t[1]));
                let wcet = Scalar::new(Service::from(t[0]));
                (RBF::new(arrivals, wcet), Duration::from(t[2]))
            })
            .collect();
        let limit = Duration::from(LIMIT);
        let fp = least(rounds, || {
            let all: Vec<&RBF<Sporadic, Scalar>> = tasks.iter().map(|t| &t.0).collect();
            (0..all.len())
                .map(|i| {
                    let above = &all[..i];
                    fixed_priority::fully_preemptive::dedicated_uniproc_rta(all[i], above, limit)
                        .map_or(0, u64::from)
                })
                .collect()
        });
        let edf = least(rounds, || {
            (0..tasks.len())
                .map(|i| {
                    let of = |j: usize| edf::fully_preemptive::Task {
                        rbf: &tasks[j].0,
                        deadline: tasks[j].1,
                    };
                    let others: Vec<_> = (0..tasks.len()).filter(|j| *j != i).map(of).collect();
                    edf::fully_preemptive::dedicated_uniproc_rta(&of(i), &others, limit)
                        .map_or(0, u64::from)
                })
                .collect()
        });
        println!("{} {} {:?} {:?}", fp.0, edf.0, fp.1, edf.1);
    }
}
