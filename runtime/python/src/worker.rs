//! Worker thread of a pass. It does the work, so that the caller's thread can react to Ctrl-C.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvError, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time between two checks for signals while a job runs.
const PATIENCE: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce() + Send>;

/// Thread that runs jobs one after the other. When the worker is dropped, the thread ends after the jobs that it has.
pub struct Worker(Sender<Job>);

impl Worker {
    /// Starts the thread.
    pub fn start() -> PyResult<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("tfbc".into()).spawn(move || jobs.into_iter().for_each(|job| job()))?;
        Ok(Self(sender))
    }

    /// Runs a job and waits for its result. Does not use Python, so that any thread can call it.
    ///
    /// # Errors
    /// The job has panicked.
    pub fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, RecvError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.begin(move || drop(sender.send(job())));
        receiver.recv()
    }

    /// Runs a job without waiting for it.
    pub fn begin(&self, job: impl FnOnce() + Send + 'static) {
        // A worker whose thread has panicked drops the job.
        let _ = self.0.send(Box::new(job));
    }

    /// Runs a job and waits for its result, without Python's lock. Checks for signals meanwhile.
    ///
    /// # Errors
    /// A signal handler raised an exception, such as `KeyboardInterrupt`. The job's result is dropped then.
    pub fn run<T: Send + 'static>(&self, py: Python<'_>, job: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
        let (sender, mut receiver) = mpsc::sync_channel(1);
        self.begin(move || drop(sender.send(job())));
        loop {
            let (same, result) = py.detach(move || {
                let result = receiver.recv_timeout(PATIENCE);
                (receiver, result)
            });
            receiver = same;
            match result {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
            }
        }
    }
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("the thread that reads the trace has panicked: this is a bug in tfbc")
}
