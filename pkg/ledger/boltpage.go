package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The pages of a file as bbolt writes them. Numbers are in the byte order of the machine.
//
// References:
//
//	[bbolt] go.etcd.io/bbolt v1.5.0, internal/common: page.go, meta.go, bucket.go, inode.go;
//	        internal/freelist/shared.go.
const (
	pageSize    = 4096 // ours, on every machine
	headerSize  = 16   // of a page: id 8, flags 2, count 2, overflow 4
	elementSize = 16   // of one on a page: see elements
	bucketSize  = 16   // of a bucket: root 8, sequence 8; then, where root is 0, a page
	metaSize    = 64   // magic 4, version 4, page size 4, flags 4, bucket 16, freelist 8, high water 8, transaction 8, checksum 8

	branchPage    = 0x01
	leafPage      = 0x02
	freelistPage  = 0x10
	bucketElement = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	metaPages   = 2
)

var byteOrder = binary.NativeEndian

// newestMeta returns the meta page of the last transaction. The one before counts
// where that of the last was not written as a whole.
func newestMeta(file io.ReaderAt) ([]byte, error) {
	var newest []byte
	for i := range int64(metaPages) {
		meta := make([]byte, metaSize)
		if _, err := file.ReadAt(meta, i*pageSize+headerSize); err != nil {
			return nil, fmt.Errorf("its meta page %d can't be read: %w", i, err)
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize-8])
		if byteOrder.Uint32(meta) != boltMagic || byteOrder.Uint32(meta[4:]) != boltVersion || byteOrder.Uint64(meta[56:]) != sum.Sum64() {
			continue
		}
		if size := byteOrder.Uint32(meta[8:]); size != pageSize {
			return nil, fmt.Errorf("its pages have %d bytes, not %d", size, pageSize)
		}
		if newest == nil || byteOrder.Uint64(meta[48:]) > byteOrder.Uint64(newest[48:]) {
			newest = meta
		}
	}
	if newest == nil {
		return nil, errors.New("neither of its meta pages is valid")
	}
	return newest, nil
}

// element is one of a page: of a branch, the first key of a child and its page; of a
// leaf, key and value.
type element struct {
	flags uint32
	page  uint64
	key   []byte
	value []byte
}

// elements returns those of a page. They stand after its header, of a branch as
// position 4, key size 4, page 8, of a leaf as flags 4, position 4, key size 4, value
// size 4, the position counted from where the element begins; then keys and values,
// without a gap.
func elements(page []byte) ([]element, error) {
	count := int(byteOrder.Uint16(page[10:]))
	next := headerSize + count*elementSize
	if next > len(page) {
		return nil, fmt.Errorf("%d elements do not fit", count)
	}
	all := make([]element, count)
	for i := range all {
		at := headerSize + i*elementSize
		raw, e := page[at:], &all[i]
		var position, keySize, valueSize uint32
		if byteOrder.Uint16(page[8:]) == branchPage {
			position, keySize, e.page = byteOrder.Uint32(raw), byteOrder.Uint32(raw[4:]), byteOrder.Uint64(raw[8:])
		} else {
			e.flags, position, keySize, valueSize = byteOrder.Uint32(raw), byteOrder.Uint32(raw[4:]), byteOrder.Uint32(raw[8:]), byteOrder.Uint32(raw[12:])
		}
		size := int64(keySize) + int64(valueSize)
		if int64(at)+int64(position) != int64(next) || keySize == 0 || size > int64(len(page)-next) {
			return nil, fmt.Errorf("element %d is not where it should be", i)
		}
		end := next + int(size)
		e.key, e.value = page[next:next+int(keySize)], page[next+int(keySize):end]
		next = end
	}
	return all, nil
}
