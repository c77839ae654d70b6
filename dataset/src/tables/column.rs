//! Kinds of columns: their Arrow type, how Parquet stores them, and how values are gathered.

use arrow::array::{
    ArrayRef, BinaryArray, BooleanBuilder, DictionaryArray, Float64Builder, Int32Array, Int64Builder, StringArray, StringBuilder,
    StructArray, TimestampMicrosecondBuilder,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int32Type, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// What a column holds; decides its Arrow type and its Parquet encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An id that tables are joined on: text, with a bloom filter.
    Id,
    /// One of a few names: dictionary of text.
    Label,
    /// Free text.
    Text,
    /// JSON as text.
    Json,
    /// A count or number: 64 bits, signed.
    Int,
    /// Nanoseconds on the session's clock.
    Time,
    /// UTC, microseconds.
    Utc,
    /// A real number, 64 bits.
    Float,
    /// Yes or no.
    Bool,
    /// A media file beside the tables, see [`Media`].
    Media(Media),
}

/// What Hugging Face `datasets` takes a media column for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// A video file.
    Video,
    /// A sound file.
    Audio,
    /// A picture.
    Image,
}

impl Media {
    /// The feature's name in `datasets`.
    #[must_use]
    pub fn feature(self) -> &'static str {
        match self {
            Self::Video => "Video",
            Self::Audio => "Audio",
            Self::Image => "Image",
        }
    }
}

impl Kind {
    /// The published Arrow type.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Label => dictionary_type(),
            Self::Id | Self::Text | Self::Json => DataType::Utf8,
            Self::Int | Self::Time => DataType::Int64,
            Self::Utc => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Float => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Media(_) => DataType::Struct(media_fields()),
        }
    }

    /// The type of the arrays that are built: ids are gathered as dictionaries, because they repeat.
    #[must_use]
    pub(crate) fn built_type(self) -> DataType {
        match self {
            Self::Id => dictionary_type(),
            k => k.data_type(),
        }
    }

    /// The type's name in the documentation.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Id | Self::Text => "text",
            Self::Label => "dictionary of text",
            Self::Json => "text (JSON)",
            Self::Int | Self::Time => "int64",
            Self::Utc => "timestamp (µs, UTC)",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Media(Media::Video) => "video (struct of bytes, path)",
            Self::Media(Media::Audio) => "audio (struct of bytes, path)",
            Self::Media(Media::Image) => "image (struct of bytes, path)",
        }
    }
}

fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The shape that `datasets` knows as a media file; any other loses the feature without a word.
fn media_fields() -> Fields {
    Fields::from(vec![Field::new("bytes", DataType::Binary, true), Field::new("path", DataType::Utf8, true)])
}

/// A kind of column at compile time: what a row gives and what gathers it.
pub trait Scalar {
    /// The kind.
    const KIND: Kind;
    /// What a row gives.
    type Value<'a>;
    /// What gathers the values.
    type Builder: Default;
    /// Appends a value, or nothing.
    fn append(b: &mut Self::Builder, v: Option<Self::Value<'_>>);
    /// The array.
    fn finish(b: Self::Builder) -> ArrayRef;
}

/// A [`Scalar`], or an `Option` of one where values may be absent.
pub trait ColumnType {
    /// The kind.
    const KIND: Kind;
    /// Whether values may be absent.
    const NULLABLE: bool;
    /// What a row gives.
    type Value<'a>;
    /// What gathers the values.
    type Builder: Default;
    /// Appends a row's value.
    fn append(b: &mut Self::Builder, v: Self::Value<'_>);
    /// The array.
    fn finish(b: Self::Builder) -> ArrayRef;
}

impl<T: Scalar> ColumnType for T {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = false;
    type Value<'a> = T::Value<'a>;
    type Builder = T::Builder;
    #[inline]
    fn append(b: &mut Self::Builder, v: Self::Value<'_>) {
        T::append(b, Some(v));
    }
    fn finish(b: Self::Builder) -> ArrayRef {
        T::finish(b)
    }
}

impl<T: Scalar> ColumnType for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    type Value<'a> = Option<T::Value<'a>>;
    type Builder = T::Builder;
    #[inline]
    fn append(b: &mut Self::Builder, v: Self::Value<'_>) {
        T::append(b, v);
    }
    fn finish(b: Self::Builder) -> ArrayRef {
        T::finish(b)
    }
}

/// Gathers text that repeats; a run of one value costs a comparison a row.
#[derive(Default)]
pub struct DictionaryBuilder {
    keys: Vec<Option<i32>>,
    values: Vec<String>,
    known: HashMap<String, i32>,
    last: i32,
}

impl DictionaryBuilder {
    #[inline]
    fn append(&mut self, v: Option<&str>) {
        let Some(v) = v else {
            self.keys.push(None);
            return;
        };
        if self.values.get(self.last as usize).is_none_or(|l| l != v) {
            self.last = self.key(v);
        }
        self.keys.push(Some(self.last));
    }

    fn key(&mut self, v: &str) -> i32 {
        if let Some(k) = self.known.get(v) {
            return *k;
        }
        // At most as many values as rows of one batch, far below i32::MAX.
        let k = self.values.len() as i32;
        self.values.push(v.into());
        self.known.insert(v.into(), k);
        k
    }

    fn finish(self) -> ArrayRef {
        let values: ArrayRef = Arc::new(StringArray::from(self.values));
        Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(self.keys), values))
    }
}

macro_rules! scalars {
    ($($(#[$m:meta])* $name:ident = $kind:expr, $value:ty, $builder:ty, |$b:ident, $v:ident| $append:expr, |$f:ident| $finish:expr;)*) => {
        $(
            $(#[$m])*
            pub struct $name;
            impl Scalar for $name {
                const KIND: Kind = $kind;
                type Value<'a> = $value;
                type Builder = $builder;
                #[inline]
                fn append($b: &mut Self::Builder, $v: Option<Self::Value<'_>>) {
                    $append
                }
                fn finish(#[allow(unused_mut)] mut $f: Self::Builder) -> ArrayRef {
                    $finish
                }
            }
        )*
    };
}

scalars! {
    /// [`Kind::Id`].
    Id = Kind::Id, &'a str, DictionaryBuilder, |b, v| b.append(v), |f| f.finish();
    /// [`Kind::Label`].
    Label = Kind::Label, &'a str, DictionaryBuilder, |b, v| b.append(v), |f| f.finish();
    /// [`Kind::Text`].
    Text = Kind::Text, &'a str, StringBuilder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// [`Kind::Json`].
    Json = Kind::Json, &'a str, StringBuilder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// [`Kind::Int`].
    Int = Kind::Int, i64, Int64Builder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// [`Kind::Time`].
    Time = Kind::Time, i64, Int64Builder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// [`Kind::Utc`], in microseconds.
    Utc = Kind::Utc, i64, TimestampMicrosecondBuilder, |b, v| b.append_option(v), |f| Arc::new(f.finish().with_timezone("UTC"));
    /// [`Kind::Float`].
    Float = Kind::Float, f64, Float64Builder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// [`Kind::Bool`].
    Bool = Kind::Bool, bool, BooleanBuilder, |b, v| b.append_option(v), |f| Arc::new(f.finish());
    /// A video file's path.
    Video = Kind::Media(Media::Video), &'a str, StringBuilder, |b, v| b.append_option(v), |f| media_array(f);
    /// A sound file's path.
    Audio = Kind::Media(Media::Audio), &'a str, StringBuilder, |b, v| b.append_option(v), |f| media_array(f);
    /// A picture's path.
    Image = Kind::Media(Media::Image), &'a str, StringBuilder, |b, v| b.append_option(v), |f| media_array(f);
}

/// Paths as `struct<bytes, path>`, the bytes left out: media stay files of their own.
fn media_array(mut paths: StringBuilder) -> ArrayRef {
    let paths = paths.finish();
    let nulls: Option<NullBuffer> = arrow::array::Array::nulls(&paths).cloned();
    let bytes: ArrayRef = Arc::new(BinaryArray::new_null(arrow::array::Array::len(&paths)));
    Arc::new(StructArray::new(media_fields(), vec![bytes, Arc::new(paths)], nulls))
}
