//! A place in S3-compatible storage.

use crate::{AT_A_TIME, Error, Result};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectMeta, ObjectStore, RetryConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long one request may take: a part on a slow line.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(240);

/// How long a request is tried again when the storage answers with an error or not at all.
const RETRY_FOR: Duration = Duration::from_secs(60);
const RETRIES: usize = 6;

/// What failed when files cannot be listed.
const LIST: &str = "could not list what is there";

/// Files with their sizes, and the tags that change when their bytes do.
pub(crate) type Tagged = BTreeMap<String, (u64, Option<String>)>;

/// Where a release lies: a bucket, and a prefix in it.
#[derive(Debug, Clone)]
pub struct Storage {
    pub(crate) store: Arc<dyn ObjectStore>,
    prefix: Path,
    address: String,
}

impl Storage {
    /// `s3://BUCKET/PREFIX`, with the settings of the environment:
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` (or `AWS_DEFAULT_REGION`),
    /// `AWS_ENDPOINT_URL` for storage elsewhere than at Amazon, `AWS_ALLOW_HTTP=true` for one without TLS.
    pub fn open(address: &str) -> Result<Self> {
        let (_, prefix) = parse(address).map_err(|m| Error::Address { address: address.into(), message: m.into() })?;
        Self::with_store(bucket(address)?, prefix, address)
    }

    /// Any store, for tests.
    pub(crate) fn with_store(store: Arc<dyn ObjectStore>, prefix: &str, address: &str) -> Result<Self> {
        let prefix = Path::parse(prefix).map_err(|e| Error::Address { address: address.into(), message: e.to_string() })?;
        Ok(Self { store, prefix, address: address.trim_end_matches('/').into() })
    }

    /// The address, without a slash at its end.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where a file of the release lies.
    pub(crate) fn object(&self, file: &str) -> Result<Path> {
        let all = if self.prefix.as_ref().is_empty() { file.to_owned() } else { format!("{}/{file}", self.prefix) };
        Path::parse(&all).map_err(|e| Error::Address { address: self.name(file), message: e.to_string() })
    }

    /// A file's address, for messages.
    pub(crate) fn name(&self, file: &str) -> String {
        format!("{}/{file}", self.address)
    }

    /// Files below the prefix, as the release calls them, with their sizes.
    pub(crate) async fn list(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.list_tagged().await?.into_iter().map(|(file, (size, _))| (file, size)).collect())
    }

    /// The same, each also with the tag that changes when its bytes do.
    pub(crate) async fn list_tagged(&self) -> Result<Tagged> {
        self.tagged(self.store.list(Some(&self.prefix))).await
    }

    /// The same of some folders, and of what lies at the top.
    pub(crate) async fn list_folders(&self, folders: &[String]) -> Result<Tagged> {
        let top = self.store.list_with_delimiter(Some(&self.prefix)).await.map_err(Error::store(&self.address, LIST))?;
        let mut files = self.tagged(stream::iter(top.objects.into_iter().map(Ok))).await?;
        let below = folders.iter().map(|f| async { self.tagged(self.store.list(Some(&self.object(f)?))).await });
        let found: Vec<Tagged> = stream::iter(below).buffered(AT_A_TIME).try_collect().await?;
        files.extend(found.into_iter().flatten());
        Ok(files)
    }

    async fn tagged(&self, mut all: impl Stream<Item = object_store::Result<ObjectMeta>> + Unpin) -> Result<Tagged> {
        let mut files = BTreeMap::new();
        while let Some(o) = all.try_next().await.map_err(Error::store(&self.address, LIST))? {
            if let Some(rest) = o.location.prefix_match(&self.prefix) {
                let file = rest.map(|p| p.as_ref().to_owned()).collect::<Vec<_>>().join("/");
                files.insert(file, (o.size, o.e_tag));
            }
        }
        Ok(files)
    }

    /// Runs `work` to its end, on threads of its own.
    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| Error::Dataset(redline_dataset::Error::io(&self.address, "could not start threads")(e)))?;
        runtime.block_on(work)
    }
}

/// The bucket of an address, with the settings that [`Storage::open`] takes.
pub fn bucket(address: &str) -> Result<Arc<dyn ObjectStore>> {
    let bad = |message: String| Error::Address { address: address.into(), message };
    let (bucket, _) = parse(address).map_err(|m| bad(m.into()))?;
    let client = ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(Duration::from_secs(10));
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
    // What the environment says of the client comes after these, so it wins.
    let mut builder = AmazonS3Builder::new().with_client_options(client).with_retry(retry);
    for (key, value) in std::env::vars_os() {
        let (Some(key), Some(value)) = (key.to_str().filter(|k| k.starts_with("AWS_")), value.to_str()) else { continue };
        // Variables that are for other programs are no settings of this one.
        if let Ok(key) = key.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    let store = builder.with_bucket_name(bucket).build().map_err(|e| bad(format!("the storage's settings (AWS_… variables): {e}")))?;
    Ok(Arc::new(store))
}

fn parse(address: &str) -> Result<(&str, &str), &'static str> {
    let rest = address.strip_prefix("s3://").ok_or("only folders and s3://BUCKET/PREFIX can be published to")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-';
    if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(ok) {
        return Err("the bucket's name must have 3 to 63 of a–z, 0–9, “.” and “-”, as in s3://BUCKET/PREFIX");
    }
    Ok((bucket, prefix.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_bucket_and_a_prefix() {
        assert_eq!(parse("s3://gears/v/1.0.0/"), Ok(("gears", "v/1.0.0")));
        assert_eq!(parse("s3://gears"), Ok(("gears", "")));
        for bad in ["gs://gears/x", "s3://", "s3://a/x", "s3://UPPER/x", "gears"] {
            assert!(parse(bad).is_err(), "{bad}");
            assert!(Storage::open(bad).unwrap_err().to_string().starts_with(bad));
        }
        assert!(Storage::open("s3://gears/a//b").is_err(), "an empty folder name");
    }
}
