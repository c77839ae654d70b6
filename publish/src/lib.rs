//! Brings a release to S3-compatible storage, and checks what is there.
//!
//! A release lies below one address, `s3://BUCKET/PREFIX`. Its files are uploaded first, each is read back
//! and compared with its SHA-256; the checksums (`SHA256SUMS`) come last, so that what has them is whole.
//! An upload that was cut off goes on where it stopped, and a published release never changes.
//!
//! Credentials, endpoint and region come from the usual `AWS_…` variables, see [`Storage::open`].
//!
//! ```no_run
//! let to = redline_publish::Storage::open("s3://bucket/gears/1.0.0")?;
//! let done = redline_publish::publish("corpus/releases/1.0.0".as_ref(), &to, &|_, _| {})?;
//! assert!(redline_publish::verify(&to, &|_, _| {})?.damaged.is_empty());
//! println!("{} uploaded, {} were there", done.copied, done.kept);
//! # Ok::<_, redline_publish::Error>(())
//! ```

mod error;
mod fetching;
mod media;
mod need;
mod objects;
mod read;
mod scratch;
mod storage;
mod upload;

pub use error::{Error, Result};
pub use fetching::{Bench, Benches, Fetching};
pub use media::InPlace;
pub use need::Need;
pub use read::verify;
pub use scratch::{Scratch, scratch_limit};
pub use storage::{Storage, bucket};
pub use upload::{publish, publish_rest};

/// Files that are worked on at a time.
const AT_A_TIME: usize = 8;

/// What is read or uploaded in one request, bytes. S3 wants parts of at least 5 MiB.
const PART_BYTES: u64 = 8 << 20;

/// Called with the files done and their number.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);
