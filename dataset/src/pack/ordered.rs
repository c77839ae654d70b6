//! Work in parallel, results in order, with a bounded number of results in memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// Results of `work` for `items`, in the items' order. At most a few results a core wait at any time.
///
/// Not to be called from inside a rayon worker: it blocks while others work.
pub(super) struct Ordered<T, R> {
    items: std::vec::IntoIter<T>,
    work: Arc<dyn Fn(T) -> R + Send + Sync>,
    running: VecDeque<Receiver<R>>,
    window: usize,
}

impl<T: Send + 'static, R: Send + 'static> Ordered<T, R> {
    pub(super) fn new(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync + 'static) -> Self {
        let window = rayon::current_num_threads() * 2 + 1;
        Self { items: items.into_iter(), work: Arc::new(work), running: VecDeque::new(), window }
    }
}

impl<T: Send + 'static, R: Send + 'static> Iterator for Ordered<T, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        while self.running.len() < self.window {
            let Some(item) = self.items.next() else { break };
            let (tx, rx) = sync_channel(1);
            let work = Arc::clone(&self.work);
            rayon::spawn(move || {
                // The receiver is gone when the caller gave up after an error.
                let _ = tx.send(work(item));
            });
            self.running.push_back(rx);
        }
        self.running.pop_front()?.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        let items: Vec<u64> = (0..200).collect();
        let got: Vec<u64> = Ordered::new(items, |i| {
            std::thread::sleep(std::time::Duration::from_micros((i * 7919) % 300));
            i * i
        })
        .collect();
        assert_eq!(got, (0..200).map(|i| i * i).collect::<Vec<u64>>());
    }
}
