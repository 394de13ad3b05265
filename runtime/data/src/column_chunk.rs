//! Column chunks of Parquet files with texts.
//!
//! ```text
//! dictionary page: the texts │ data page: nulls, keys │ data page │ …
//! ```
//!
//! The library's own writer looks up the text of every row, although batches have keys already, which took half the time
//! of a table. Here a text is looked up once per batch. The pages are those that the library writes.

use crate::dictionary::Texts;
#[cfg(feature = "zstd")]
use ::parquet::basic::ZstdLevel;
use ::parquet::basic::{BoundaryOrder, Compression, Encoding, Type};
use ::parquet::column::page::{CompressedPage, Page, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder};
use ::parquet::file::statistics::Statistics;
use ::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;
use bytes::Bytes;
use std::io::Write;
use std::ops::Range;

/// Number of rows of a page, as in the library.
const PAGE_ROWS: usize = 20_000;
/// Size in bytes at which a page ends.
const PAGE_BYTES: usize = 1 << 20;
/// Size in bytes of a dictionary from which on pages contain the texts themselves, as in the library.
const MAX_DICTIONARY: usize = 1 << 20;
/// Key in a batch that has no key in the chunk yet.
const UNKNOWN: u32 = u32::MAX;

/// Writer of a column chunk of texts.
pub(crate) struct TextChunk {
    column: ColumnDescPtr,
    codec: Codec,
    /// True if pages have statistics.
    is_indexed: bool,
    /// Texts of the chunk; `None` if pages contain the texts themselves.
    dictionary: Option<Texts>,
    /// Texts of the pages so far, if there is no dictionary any more.
    ended_dictionary: Option<Texts>,
    /// Key in the chunk by key in the current batch.
    keys_of_batch: Vec<u32>,
    page: PageRows,
    pages: TrackedWrite<Vec<u8>>,
    sizes: ChunkSizes,
    range: TextRange,
    offsets: OffsetIndexBuilder,
    index: ColumnIndexBuilder,
}

/// Rows of the current page.
#[derive(Default)]
struct PageRows {
    n_rows: usize,
    n_nulls: usize,
    /// 0 for a null, 1 for another row; empty before the first null.
    levels: Vec<u32>,
    /// Keys of the rows that are not null.
    keys: Vec<u32>,
    /// Lengths and texts of these rows, if the page has no keys.
    plain: Vec<u8>,
    /// Smallest and largest of them.
    range: TextRange,
}

/// Sizes of the pages so far.
#[derive(Default)]
struct ChunkSizes {
    n_rows: usize,
    n_nulls: usize,
    compressed: usize,
    uncompressed: usize,
}

/// Smallest and largest text.
#[derive(Default)]
struct TextRange {
    texts: Option<[Vec<u8>; 2]>,
    /// First bytes of both, see [`text_start`]. A text that starts between them is neither smaller nor larger.
    starts: Range<u64>,
}

impl TextRange {
    #[inline]
    fn add(&mut self, text: &[u8]) {
        let start = text_start(text);
        if start <= self.starts.start || start >= self.starts.end {
            self.compare(text);
        }
    }

    #[inline(never)]
    fn compare(&mut self, text: &[u8]) {
        let [least, most] = self.texts.get_or_insert_with(|| [text.to_vec(), text.to_vec()]);
        if text < least.as_slice() {
            *least = text.to_vec();
        } else if text > most.as_slice() {
            *most = text.to_vec();
        }
        self.starts = text_start(least)..text_start(most);
    }

    fn join(&mut self, other: &Self) {
        other.texts.iter().flatten().for_each(|text| self.add(text));
    }
}

/// First bytes of a text as a number. Smaller numbers are starts of smaller texts.
#[inline]
fn text_start(text: &[u8]) -> u64 {
    let short = || {
        let mut start = [0; 8];
        start[..text.len()].copy_from_slice(text);
        start
    };
    u64::from_be_bytes(text.first_chunk().copied().unwrap_or_else(short))
}

impl PageRows {
    /// Counts rows that were appended.
    fn push_levels(&mut self, rows: Range<usize>, nulls: Option<&NullBuffer>) {
        let n_before = self.n_rows;
        self.n_rows += rows.len();
        let nulls = nulls.map(|nulls| nulls.slice(rows.start, rows.len())).filter(|nulls| nulls.null_count() > 0);
        match nulls {
            None if self.n_nulls == 0 => {}
            None => self.levels.resize(self.n_rows, 1),
            Some(nulls) => {
                self.n_nulls += nulls.null_count();
                self.levels.resize(n_before, 1);
                self.levels.extend(nulls.iter().map(u32::from));
            }
        }
    }
}

/// Compression of pages.
enum Codec {
    None,
    /// With room for compressed pages, which is cleared only once.
    Snappy(Box<snap::raw::Encoder>, Vec<u8>),
    Lz4,
    #[cfg(feature = "zstd")]
    Zstd(zstd_safe::CCtx<'static>, ZstdLevel),
}

impl Codec {
    fn new(compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Codec::None,
            Compression::SNAPPY => Codec::Snappy(Box::new(snap::raw::Encoder::new()), Vec::new()),
            Compression::LZ4_RAW => Codec::Lz4,
            #[cfg(feature = "zstd")]
            Compression::ZSTD(level) => Codec::Zstd(zstd_safe::CCtx::create(), level),
            other => return Err(ParquetError::NYI(format!("compression by {other}"))),
        })
    }

    fn compression(&self) -> Compression {
        match self {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy(..) => Compression::SNAPPY,
            Codec::Lz4 => Compression::LZ4_RAW,
            #[cfg(feature = "zstd")]
            Codec::Zstd(_, level) => Compression::ZSTD(*level),
        }
    }

    fn compress(&mut self, bytes: &[u8]) -> Result<Bytes> {
        Ok(match self {
            Codec::None => Bytes::copy_from_slice(bytes),
            Codec::Snappy(encoder, room) => {
                let max_len = snap::raw::max_compress_len(bytes.len());
                room.resize(room.len().max(max_len), 0);
                let n = encoder.compress(bytes, room)?;
                Bytes::copy_from_slice(&room[..n])
            }
            Codec::Lz4 => lz4_flex::block::compress(bytes).into(),
            #[cfg(feature = "zstd")]
            Codec::Zstd(encoder, level) => {
                let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
                let error = |code| ParquetError::General(format!("zstd: {}", zstd_safe::get_error_name(code)));
                encoder.compress(&mut compressed, bytes, level.compression_level()).map_err(error)?;
                compressed.into()
            }
        })
    }
}

impl TextChunk {
    /// Creates the chunk of a column, or returns `None` if the library must write it: if it is not a column of texts at the top of
    /// the schema. Columns of Arrow dictionaries become dictionaries. `is_indexed` is true if pages have statistics.
    pub fn new(
        column: &ColumnDescPtr,
        data_type: &DataType,
        compression: Compression,
        is_indexed: bool,
    ) -> Result<Option<Self>> {
        let has_dictionary = match data_type {
            DataType::Dictionary(keys, values) => {
                if **values != DataType::Utf8 || !matches!(**keys, DataType::Int16 | DataType::Int32) {
                    return Ok(None);
                }
                true
            }
            DataType::Utf8 => false,
            _ => return Ok(None),
        };
        Ok(Some(Self {
            column: ColumnDescPtr::clone(column),
            codec: Codec::new(compression)?,
            is_indexed,
            dictionary: has_dictionary.then(Texts::new),
            ended_dictionary: None,
            keys_of_batch: Vec::new(),
            page: PageRows::default(),
            pages: TrackedWrite::new(Vec::new()),
            sizes: ChunkSizes::default(),
            range: TextRange::default(),
            offsets: OffsetIndexBuilder::new(),
            index: ColumnIndexBuilder::new(Type::BYTE_ARRAY),
        }))
    }

    /// Appends the rows of a batch.
    pub fn push(&mut self, column: &ArrayRef) -> Result<()> {
        if let Some(column) = column.as_dictionary_opt::<Int32Type>() {
            self.push_dictionary(column)
        } else if let Some(column) = column.as_dictionary_opt::<Int16Type>() {
            self.push_dictionary(column)
        } else if let Some(column) = column.as_string_opt::<i32>() {
            self.push_texts(column.len(), column.nulls(), |row| row, column)
        } else {
            Err(ParquetError::General(format!("a column of texts has the type {}", column.data_type())))
        }
    }

    fn push_dictionary<K: ArrowDictionaryKeyType>(&mut self, column: &DictionaryArray<K>) -> Result<()> {
        let texts = column.values().as_string::<i32>();
        self.keys_of_batch.clear();
        self.keys_of_batch.resize(texts.len(), UNKNOWN);
        let keys = column.keys().values();
        self.push_texts(column.len(), column.nulls(), |row| keys[row].as_usize(), texts)
    }

    /// Appends rows. `key` returns the index of a row's text.
    fn push_texts(
        &mut self,
        n_rows: usize,
        nulls: Option<&NullBuffer>,
        key: impl Fn(usize) -> usize,
        texts: &StringArray,
    ) -> Result<()> {
        let mut first = 0;
        while first < n_rows {
            let last = n_rows.min(first + PAGE_ROWS - self.page.n_rows);
            first = self.push_rows(first..last, nulls, &key, texts);
            let is_large = self.dictionary.as_ref().is_some_and(|texts| texts.n_bytes() > MAX_DICTIONARY);
            if self.page.n_rows >= PAGE_ROWS || self.page.plain.len() >= PAGE_BYTES || is_large {
                self.finish_page()?;
            }
            if is_large {
                self.ended_dictionary = self.dictionary.take();
            }
        }
        Ok(())
    }

    /// Appends rows to the page, up to the one with which it is large enough. Returns the row after them.
    fn push_rows(
        &mut self,
        rows: Range<usize>,
        nulls: Option<&NullBuffer>,
        key: impl Fn(usize) -> usize,
        texts: &StringArray,
    ) -> usize {
        let Self { page, keys_of_batch, dictionary, .. } = self;
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let mut others = rows.clone().filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
        let last = match dictionary {
            Some(dictionary) => others.find(|row| {
                let key = key(*row);
                let Some(known) = keys_of_batch.get_mut(key) else { return false };
                let is_new = *known == UNKNOWN;
                if is_new {
                    *known = dictionary.key(texts.value(key).as_bytes()) as u32;
                }
                page.keys.push(*known);
                is_new && dictionary.n_bytes() > MAX_DICTIONARY
            }),
            None => others.find(|row| {
                let text = texts.value(key(*row)).as_bytes();
                page.plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                page.plain.extend_from_slice(text);
                page.range.add(text);
                page.plain.len() >= PAGE_BYTES
            }),
        };
        let end = last.map_or(rows.end, |row| row + 1);
        page.push_levels(rows.start..end, nulls);
        end
    }

    /// Writes the current page.
    fn finish_page(&mut self) -> Result<()> {
        let Self { page, dictionary, sizes, range, .. } = self;
        let n_rows = page.n_rows;
        if n_rows == 0 {
            return Ok(());
        }
        let mut body = Vec::new();
        if self.column.max_def_level() > 0 {
            body.extend_from_slice(&[0; 4]);
            match page.n_nulls {
                0 => push_run(1, n_rows, 1, &mut body),
                _ => push_runs(&page.levels, 1, &mut body),
            }
            let len = body.len() as u32 - 4;
            body[..4].copy_from_slice(&len.to_le_bytes());
        } else if page.n_nulls > 0 {
            return Err(ParquetError::General(format!("nulls in the column {}", self.column.name())));
        }
        let encoding = match dictionary {
            Some(texts) => {
                let width = width(texts.len());
                body.push(width as u8);
                push_runs(&page.keys, width, &mut body);
                if self.is_indexed {
                    let mut is_used = vec![false; texts.len()];
                    page.keys.iter().for_each(|key| is_used[*key as usize] = true);
                    let used = (0..texts.len()).filter(|key| is_used[*key]);
                    used.for_each(|key| page.range.add(texts.get(key)));
                }
                Encoding::RLE_DICTIONARY
            }
            None => {
                if !body.is_empty() {
                    body.extend_from_slice(&page.plain);
                }
                range.join(&page.range);
                Encoding::PLAIN
            }
        };
        let body = if body.is_empty() { &page.plain } else { &body };
        let n_bytes = body.len();
        let data = Page::DataPage {
            buf: self.codec.compress(body)?,
            num_values: n_rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = SerializedPageWriter::new(&mut self.pages).write_page(CompressedPage::new(data, n_bytes))?;
        sizes.n_rows += n_rows;
        sizes.n_nulls += page.n_nulls;
        sizes.compressed += written.compressed_size;
        sizes.uncompressed += written.uncompressed_size;
        self.offsets.append_row_count(n_rows as i64);
        self.offsets.append_offset_and_size(written.offset as i64, written.compressed_size as i32);
        if self.is_indexed {
            let is_null = page.range.texts.is_none();
            let [least, most] = page.range.texts.take().unwrap_or_default();
            self.index.append(is_null, least, most, page.n_nulls as i64, None);
        }
        page.levels.clear();
        page.keys.clear();
        page.plain.clear();
        (page.n_rows, page.n_nulls, page.range) = (0, 0, TextRange::default());
        Ok(())
    }

    /// Returns the bytes of the chunk, and its metadata.
    pub fn finish(mut self) -> Result<(Bytes, ColumnCloseResult)> {
        self.finish_page()?;
        let Self { column, mut codec, is_indexed, pages, mut sizes, mut range, offsets, mut index, .. } = self;
        let mut all = TrackedWrite::new(Vec::new());
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if let Some(texts) = self.ended_dictionary.or(self.dictionary) {
            let mut body = Vec::with_capacity(texts.n_bytes() + 4 * texts.len());
            for text in (0..texts.len()).map(|key| texts.get(key)) {
                body.extend_from_slice(&(text.len() as u32).to_le_bytes());
                body.extend_from_slice(text);
                range.add(text);
            }
            let n_bytes = body.len();
            let page = Page::DictionaryPage {
                buf: codec.compress(&body)?,
                num_values: texts.len() as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = SerializedPageWriter::new(&mut all).write_page(CompressedPage::new(page, n_bytes))?;
            sizes.compressed += written.compressed_size;
            sizes.uncompressed += written.uncompressed_size;
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        let n_before = all.bytes_written() as i64;
        let mut bytes = pages.into_inner()?;
        if n_before > 0 {
            all.write_all(&bytes)?;
            bytes = all.into_inner()?;
        }
        let [least, most] = match range.texts {
            Some(range) => range.map(|text| Some(ByteArray::from(text))),
            None => [None, None],
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(codec.compression())
            .set_encodings(encodings)
            .set_num_values(sizes.n_rows as i64)
            .set_total_compressed_size(sizes.compressed as i64)
            .set_total_uncompressed_size(sizes.uncompressed as i64)
            .set_data_page_offset(n_before)
            .set_dictionary_page_offset((n_before > 0).then_some(0))
            .set_statistics(Statistics::byte_array(least, most, None, Some(sizes.n_nulls as u64), false))
            .build()?;
        let mut offsets = offsets.build();
        offsets.page_locations.iter_mut().for_each(|page| page.offset += n_before);
        index.set_boundary_order(BoundaryOrder::UNORDERED);
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: sizes.n_rows as u64,
            metadata,
            bloom_filter: None,
            column_index: if is_indexed { Some(index.build()?) } else { None },
            offset_index: Some(offsets),
        };
        Ok((bytes.into(), closed))
    }
}

/// Number of bits of the largest of `n` keys.
fn width(n: usize) -> u32 {
    usize::BITS - n.saturating_sub(1).leading_zeros()
}

/// Appends numbers of `width` bits in Parquet's mixture of runs and packed groups of eight.
fn push_runs(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut packed, mut at) = (0, 0);
    while at < numbers.len() {
        let run = numbers[at..].iter().take_while(|number| **number == numbers[at]).count();
        // Packed numbers come in groups, so runs are looked for at the start of a group.
        if run < 8 {
            at = numbers.len().min(at + 8);
            continue;
        }
        push_packed(&numbers[packed..at], width, out);
        push_run(numbers[at], run, width, out);
        at += run;
        packed = at;
    }
    push_packed(&numbers[packed..], width, out);
}

/// Appends a number that occurs `n` times.
fn push_run(number: u32, n: usize, width: u32, out: &mut Vec<u8>) {
    push_varint((n as u64) << 1, out);
    let n_bytes = width.div_ceil(8) as usize;
    out.extend_from_slice(&number.to_le_bytes()[..n_bytes]);
}

/// Appends numbers as groups of eight; the last group is filled with zeros.
fn push_packed(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let n_groups = numbers.len().div_ceil(8);
    push_varint((n_groups as u64) << 1 | 1, out);
    let end = out.len() + n_groups * width as usize;
    let (mut bits, mut n_bits) = (0_u64, 0);
    for number in numbers {
        bits |= u64::from(*number) << n_bits;
        n_bits += width;
        if n_bits >= 32 {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            (bits, n_bits) = (bits >> 32, n_bits - 32);
        }
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out.resize(end, 0);
}

fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
