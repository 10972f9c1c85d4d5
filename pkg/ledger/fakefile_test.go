package ledger

import (
	"hash/fnv"
	"io"
)

// fakeFile is a file in bbolt's format that a test builds page by page.
type fakeFile struct {
	pages map[uint64][]byte
	high  uint64
}

// newFakeFile returns a file with a root bucket on page 3 and the list of free pages on
// page 2.
func newFakeFile(high uint64) *fakeFile {
	b := &fakeFile{pages: make(map[uint64][]byte), high: high}
	b.set(2, freelistPage, 0)
	b.set(3, leafPage, 0)
	b.meta(0, 1, 3, 2, high)
	return b
}

// meta writes a meta page with the right checksum.
func (b *fakeFile) meta(page, transaction, root, free, high uint64) []byte {
	meta := make([]byte, metaSize)
	byteOrder.PutUint32(meta, boltMagic)
	byteOrder.PutUint32(meta[4:], boltVersion)
	byteOrder.PutUint32(meta[8:], pageSize)
	for i, v := range []uint64{root, 0, free, high, transaction} {
		byteOrder.PutUint64(meta[16+8*i:], v)
	}
	b.pages[page] = append(make([]byte, headerSize), meta...)
	b.sum(page)
	return b.pages[page][headerSize:]
}

func (b *fakeFile) sum(page uint64) {
	meta := b.pages[page][headerSize:]
	sum := fnv.New64a()
	sum.Write(meta[:metaSize-8])
	byteOrder.PutUint64(meta[metaSize-8:], sum.Sum64())
}

// set writes a page with elements.
func (b *fakeFile) set(id uint64, flags uint16, overflow uint32, elements ...element) {
	b.pages[id] = pageOf(id, flags, overflow, elements...)
}

func pageOf(id uint64, flags uint16, overflow uint32, all ...element) []byte {
	page := make([]byte, headerSize+len(all)*elementSize)
	byteOrder.PutUint64(page, id)
	byteOrder.PutUint16(page[8:], flags)
	byteOrder.PutUint16(page[10:], uint16(len(all)))
	byteOrder.PutUint32(page[12:], overflow)
	for i, e := range all {
		at := headerSize + i*elementSize
		position := uint32(len(page) - at)
		if flags == branchPage {
			byteOrder.PutUint32(page[at:], position)
			byteOrder.PutUint32(page[at+4:], uint32(len(e.key)))
			byteOrder.PutUint64(page[at+8:], e.page)
		} else {
			for j, v := range []uint32{e.flags, position, uint32(len(e.key)), uint32(len(e.value))} {
				byteOrder.PutUint32(page[at+4*j:], v)
			}
		}
		page = append(append(page, e.key...), e.value...)
	}
	return page
}

// free writes the list of free pages.
func (b *fakeFile) free(ids ...uint64) {
	page := pageOf(2, freelistPage, 0)
	byteOrder.PutUint16(page[10:], uint16(min(len(ids), 0xFFFF)))
	if len(ids) >= 0xFFFF {
		page = byteOrder.AppendUint64(page, uint64(len(ids)))
		byteOrder.PutUint32(page[12:], uint32((len(page)+8*len(ids))/pageSize))
	}
	for _, id := range ids {
		page = byteOrder.AppendUint64(page, id)
	}
	b.pages[2] = page
}

func (b *fakeFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(b.high)*pageSize {
		return 0, io.EOF
	}
	clear(p)
	for id, page := range b.pages {
		if start := int64(id)*pageSize - off; start < int64(len(p)) && start+int64(len(page)) > 0 {
			copy(p[max(start, 0):], page[max(-start, 0):])
		}
	}
	return len(p), nil
}

func leaf(key string) element               { return element{key: []byte(key), value: []byte("v")} }
func child(key string, page uint64) element { return element{key: []byte(key), page: page} }
func bucket(key string, value []byte) element {
	return element{flags: bucketElement, key: []byte(key), value: value}
}

// bucketWithRoot returns the value of a bucket with a tree of its own.
func bucketWithRoot(page uint64) []byte {
	return append(byteOrder.AppendUint64(nil, page), make([]byte, 8)...)
}

// inlineBucket returns the value of a bucket with an inline page.
func inlineBucket(page []byte) []byte { return append(make([]byte, bucketSize), page...) }
