package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a file's pages, as bbolt writes them in the byte order of the machine.
//
// References:
//
//	[bbolt] go.etcd.io/bbolt v1.5.0, internal/common: page.go, meta.go, bucket.go, inode.go;
//	        internal/freelist/shared.go.
const (
	pageSize    = 4096 // We choose it, the same on every machine.
	headerSize  = 16   // Of a page: see pageHeader.
	elementSize = 16   // Of an element's fixed part: see parseElements.
	bucketSize  = 16   // Of a bucket: root 8, sequence 8; if root is 0, a page follows.
	metaSize    = 64   // See metaPage.

	branchPage    = 0x01
	leafPage      = 0x02
	freelistPage  = 0x10
	bucketElement = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	metaPages   = 2
)

var byteOrder = binary.NativeEndian

// metaPage is what follows the header of a meta page.
type metaPage struct {
	Magic, Version, PageSize, Flags uint32
	Root, Sequence                  uint64 // The bucket of the whole file.
	Freelist                        uint64
	HighWater                       uint64 // Pages from here on are not in use.
	Transaction                     uint64
	Checksum                        uint64 // FNV-1a of the fields before.
}

// newestMeta returns the meta page of the last transaction, or of the one before if that
// of the last was not written completely.
func newestMeta(file io.ReaderAt) (*metaPage, error) {
	var newest *metaPage
	for i := range int64(metaPages) {
		raw, m := make([]byte, metaSize), new(metaPage)
		_, err := file.ReadAt(raw, i*pageSize+headerSize)
		if err == nil {
			_, err = binary.Decode(raw, byteOrder, m)
		}
		if err != nil {
			return nil, fmt.Errorf("its meta page %d can't be read: %w", i, err)
		}
		sum := fnv.New64a()
		sum.Write(raw[:metaSize-8])
		if m.Magic != boltMagic || m.Version != boltVersion || m.Checksum != sum.Sum64() {
			continue
		}
		if m.PageSize != pageSize {
			return nil, fmt.Errorf("its pages have %d bytes, not %d", m.PageSize, pageSize)
		}
		if newest == nil || m.Transaction > newest.Transaction {
			newest = m
		}
	}
	if newest == nil {
		return nil, errors.New("neither of its meta pages is valid")
	}
	return newest, nil
}

// pageHeader is the header of a page.
type pageHeader struct {
	id       uint64
	flags    uint16
	count    uint16 // Elements on the page.
	overflow uint32 // Pages that continue this one.
}

func parseHeader(page []byte) pageHeader {
	return pageHeader{byteOrder.Uint64(page), byteOrder.Uint16(page[8:]), byteOrder.Uint16(page[10:]), byteOrder.Uint32(page[12:])}
}

// element is an element of a page. On a branch it is a child page and its first key; on
// a leaf, a key and its value.
type element struct {
	flags uint32
	page  uint64
	key   []byte
	value []byte
}

// parseElements returns the elements of a page, whose keys must be in a range. Fixed
// parts follow the page's header: on a branch position 4, key size 4, page 8; on a leaf
// flags 4, position 4, key size 4, value size 4. Then come keys and values, without a
// gap. A position counts from the element's own fixed part.
func parseElements(page []byte, within keyRange) ([]element, error) {
	header := parseHeader(page)
	next := headerSize + int(header.count)*elementSize
	if next > len(page) {
		return nil, fmt.Errorf("%d elements do not fit", header.count)
	}
	all := make([]element, header.count)
	for i := range all {
		at := headerSize + i*elementSize
		raw, e := page[at:], &all[i]
		var position, keySize, valueSize uint32
		if header.flags == branchPage {
			position, keySize, e.page = byteOrder.Uint32(raw), byteOrder.Uint32(raw[4:]), byteOrder.Uint64(raw[8:])
		} else {
			e.flags, position = byteOrder.Uint32(raw), byteOrder.Uint32(raw[4:])
			keySize, valueSize = byteOrder.Uint32(raw[8:]), byteOrder.Uint32(raw[12:])
		}
		size := int64(keySize) + int64(valueSize)
		if int64(at)+int64(position) != int64(next) || keySize == 0 || size > int64(len(page)-next) {
			return nil, fmt.Errorf("element %d is misplaced", i)
		}
		data := page[next : next+int(size)]
		e.key, e.value = data[:keySize], data[keySize:]
		next += int(size)
	}
	return all, within.check(all)
}

// keyRange is what a branch page says of the keys below one of its elements; nil says
// nothing.
type keyRange struct {
	first []byte
	end   []byte // All keys are less.
}

// check returns an error unless keys are ascending and in the range.
func (r keyRange) check(all []element) error {
	if r.first != nil && (len(all) == 0 || !bytes.Equal(all[0].key, r.first)) {
		return errors.New("its first key is not the one that leads to it")
	}
	for i := range all {
		end := r.end
		if i+1 < len(all) {
			end = all[i+1].key
		}
		if end != nil && bytes.Compare(all[i].key, end) >= 0 {
			return fmt.Errorf("key %x is out of order", all[i].key)
		}
	}
	return nil
}
