//! The network's threads. Everything asynchronous runs here; the rest of the program sees functions that return.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, ErrorKind, Result};

/// Threads that drive connections: copying out of sockets is all they do.
const THREADS: usize = 2;

/// A handle to the network's threads; they end when the last handle goes.
#[derive(Clone)]
pub(super) struct Background(Arc<Owned>);

struct Owned(Option<Runtime>);

impl Background {
    /// Starts the threads.
    pub(super) fn start() -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().thread_name("fetch").build();
        let runtime = runtime.map_err(|error| Error::new(ErrorKind::Internal, "network", error))?;
        Ok(Self(Arc::new(Owned(Some(runtime)))))
    }

    /// Runs `work` to its end while this thread waits.
    pub(super) fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle().block_on(work)
    }

    /// Starts `work` and does not wait for it.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle().spawn(work);
    }

    fn handle(&self) -> &Handle {
        self.0.0.as_ref().expect("invariant: the runtime is taken only when its last handle is dropped").handle()
    }
}

impl Drop for Owned {
    /// Shuts the threads down without waiting: a task on one of them may hold the last handle, and would wait for itself.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
