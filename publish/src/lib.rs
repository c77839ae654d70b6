//! Brings a release to where others load it: a folder or S3-compatible storage.
