package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxDepth bounds the height of the tree: with two children a page, the least that
// bbolt makes, 2^32 pages.
const maxDepth = 32

// checker is the way through a file. bbolt trusts its pages: one that is damaged makes it
// panic, in goroutines of its own too, fault, or run in circles. So a file is walked
// before bbolt sees it, by plain reads and trusting nothing but the checksums of the
// meta pages.
type checker struct {
	file      io.ReaderAt
	highWater uint64 // the high water mark: pages from here on are not in use
	visited   bitmap
}

// checkStructure returns an error unless every page of a file below its high water
// visit is of one tree, or free, or of the list of free pages, once, and every page and
// every key of the tree stands where it should.
func checkStructure(file io.ReaderAt, size int64) error {
	meta, err := newestMeta(file)
	if err != nil {
		return err
	}
	w := &checker{file: file, highWater: byteOrder.Uint64(meta[40:])}
	if w.highWater > uint64(size)/pageSize {
		return fmt.Errorf("it has %d bytes, too few for %d pages", size, w.highWater)
	}
	if w.highWater < metaPages {
		return errors.New("it ends within its meta pages")
	}
	w.visited = newBitmap(w.highWater)
	for id := range uint64(metaPages) {
		w.visited.set(id)
	}
	if err := w.checkFreelist(byteOrder.Uint64(meta[32:])); err != nil {
		return err
	}
	if err := w.checkTree(byteOrder.Uint64(meta[16:]), keyRange{}, 0, false); err != nil {
		return err
	}
	if w.visited.count != w.highWater {
		return fmt.Errorf("%d of its %d pages are neither in use nor free", w.highWater-w.visited.count, w.highWater)
	}
	return nil
}

// readPage reads a page with what overflows into the pages after it, and marks all as
// visited.
func (w *checker) readPage(id uint64, want ...uint16) ([]byte, error) {
	if id >= w.highWater {
		return nil, fmt.Errorf("page %d is beyond its %d pages", id, w.highWater)
	}
	header := make([]byte, pageSize)
	if _, err := w.file.ReadAt(header, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("page %d can't be read: %w", id, err)
	}
	flags, overflow := byteOrder.Uint16(header[8:]), uint64(byteOrder.Uint32(header[12:]))
	if byteOrder.Uint64(header) != id || !slices.Contains(want, flags) || overflow >= w.highWater-id {
		return nil, fmt.Errorf("page %d has a header that is not its own", id)
	}
	for covered := range overflow + 1 {
		if err := w.visit(id + covered); err != nil {
			return nil, err
		}
	}
	if overflow == 0 {
		return header, nil
	}
	page := make([]byte, (overflow+1)*pageSize)
	if _, err := w.file.ReadAt(page, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("page %d can't be read: %w", id, err)
	}
	return page, nil
}

func (w *checker) visit(id uint64) error {
	if id >= w.highWater || w.visited.has(id) {
		return fmt.Errorf("page %d is in use twice, or beyond its %d pages", id, w.highWater)
	}
	w.visited.set(id)
	return nil
}

// checkFreelist checks the list of free pages: their ids, ascending. A count of 0xFFFF
// stands for the number that comes first in the list then.
func (w *checker) checkFreelist(id uint64) error {
	page, err := w.readPage(id, freelistPage)
	if err != nil {
		return fmt.Errorf("free pages: %w", err)
	}
	count, ids := uint64(byteOrder.Uint16(page[10:])), page[headerSize:]
	if count == 0xFFFF {
		count, ids = byteOrder.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("free pages: %d do not fit on page %d", count, id)
	}
	last := uint64(0)
	for i := range count {
		free := byteOrder.Uint64(ids[8*i:])
		if err := w.visit(free); err != nil || free <= last {
			return fmt.Errorf("free pages: page %d is out of order, in use, or beyond its %d pages", free, w.highWater)
		}
		last = free
	}
	return nil
}

// keyRange are what a branch page says of the keys below one of its elements.
type keyRange struct {
	first []byte // the first of them; nil where nothing is said
	end   []byte // all are below; nil where nothing is said
}

// checkTree checks a page of a tree, and what is below it.
func (w *checker) checkTree(id uint64, within keyRange, depth int, nested bool) error {
	if depth == maxDepth {
		return fmt.Errorf("page %d is %d pages deep", id, depth)
	}
	page, err := w.readPage(id, branchPage, leafPage)
	if err != nil {
		return err
	}
	all, err := elements(page)
	if err == nil {
		err = within.contains(all)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if byteOrder.Uint16(page[8:]) == leafPage {
		return w.checkBuckets(id, all, depth, nested)
	}
	if len(all) == 0 {
		return fmt.Errorf("page %d: a branch without leaves", id)
	}
	for i, child := range all {
		below := keyRange{first: child.key, end: within.end}
		if i+1 < len(all) {
			below.end = all[i+1].key
		}
		if err := w.checkTree(child.page, below, depth+1, nested); err != nil {
			return err
		}
	}
	return nil
}

// contains returns an error unless keys are ascending and within bounds.
func (b keyRange) contains(all []element) error {
	if b.first != nil && (len(all) == 0 || !bytes.Equal(all[0].key, b.first)) {
		return errors.New("it does not begin with the key that leads to it")
	}
	for i := range all {
		end := b.end
		if i+1 < len(all) {
			end = all[i+1].key
		}
		if end != nil && bytes.Compare(all[i].key, end) >= 0 {
			return fmt.Errorf("key %x is out of order", all[i].key)
		}
	}
	return nil
}

// checkBuckets checks the buckets among the elements of a leaf page. Only the tree of the
// file itself has some.
func (w *checker) checkBuckets(id uint64, all []element, depth int, nested bool) error {
	for _, e := range all {
		if e.flags == 0 {
			continue
		}
		err := errors.New("it is not what it seems")
		if e.flags == bucketElement && !nested && len(e.value) >= bucketSize {
			err = w.checkBucket(e.value, depth)
		}
		if err != nil {
			return fmt.Errorf("page %d: bucket %x: %w", id, e.key, err)
		}
	}
	return nil
}

// checkBucket checks a bucket: one with a tree of its own, or with its one page inline.
func (w *checker) checkBucket(value []byte, depth int) error {
	root, page := byteOrder.Uint64(value), value[bucketSize:]
	if root != 0 {
		if len(page) != 0 {
			return errors.New("it has both pages and a page inline")
		}
		return w.checkTree(root, keyRange{}, depth+1, true)
	}
	if len(page) < headerSize || byteOrder.Uint64(page) != 0 || byteOrder.Uint16(page[8:]) != leafPage || byteOrder.Uint32(page[12:]) != 0 {
		return errors.New("the header of its inline page is not its own")
	}
	all, err := elements(page)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e element) bool { return e.flags != 0 }) {
		return errors.New("it has a bucket in it")
	}
	return keyRange{}.contains(all)
}
