package ledger

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxDepth bounds the height of the tree: 2^32 pages with two children each, which is
// the least that bbolt makes.
const maxDepth = 32

// checkStructure returns an error unless each page below the file's high-water mark is
// used exactly once, by the one tree, as free, or by the list of free pages, and all
// keys are in order. It reads the file without bbolt, and trusts only the meta pages
// whose checksum is right.
func checkStructure(file io.ReaderAt, size int64) error {
	meta, err := newestMeta(file)
	if err != nil {
		return err
	}
	switch {
	case meta.HighWater > uint64(size)/pageSize:
		return fmt.Errorf("it has %d bytes, too few for %d pages", size, meta.HighWater)
	case meta.HighWater < metaPages:
		return errors.New("it ends within its meta pages")
	}
	c := &checker{file: file, highWater: meta.HighWater, visited: make([]bool, meta.HighWater)}
	for id := range uint64(metaPages) {
		_ = c.visit(id)
	}
	if err := c.checkFreelist(meta.Freelist); err != nil {
		return err
	}
	if err := c.checkTree(meta.Root, keyRange{}, 0, false); err != nil {
		return err
	}
	if c.visits != c.highWater {
		return fmt.Errorf("%d of its %d pages are neither in use nor free", c.highWater-c.visits, c.highWater)
	}
	return nil
}

// checker walks the pages of a file.
type checker struct {
	file      io.ReaderAt
	highWater uint64
	visited   []bool // by page
	visits    uint64 // of pages that were not visited before
}

// checkFreelist checks the list of free pages: their ids, ascending. If the page header
// says 0xFFFF elements, their number comes first in the list.
func (c *checker) checkFreelist(id uint64) error {
	page, err := c.readPage(id, freelistPage)
	if err != nil {
		return fmt.Errorf("free pages: %w", err)
	}
	count, ids := uint64(parseHeader(page).count), page[headerSize:]
	if count == 0xFFFF {
		count, ids = byteOrder.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("free pages: %d do not fit on page %d", count, id)
	}
	last := uint64(0)
	for i := range count {
		free := byteOrder.Uint64(ids[8*i:])
		if err := c.visit(free); err != nil || free <= last {
			return fmt.Errorf("free pages: page %d is out of order, in use, or beyond its %d pages", free, c.highWater)
		}
		last = free
	}
	return nil
}

// checkTree checks a page of a tree, and the pages below it.
func (c *checker) checkTree(id uint64, within keyRange, depth int, nested bool) error {
	if depth == maxDepth {
		return fmt.Errorf("page %d is %d pages deep", id, depth)
	}
	page, err := c.readPage(id, branchPage, leafPage)
	if err != nil {
		return err
	}
	all, err := parseElements(page, within)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if parseHeader(page).flags == leafPage {
		return c.checkBuckets(id, all, depth, nested)
	}
	if len(all) == 0 {
		return fmt.Errorf("page %d: a branch without children", id)
	}
	for i := range all {
		below := keyRange{first: all[i].key, end: within.end}
		if i+1 < len(all) {
			below.end = all[i+1].key
		}
		if err := c.checkTree(all[i].page, below, depth+1, nested); err != nil {
			return err
		}
	}
	return nil
}

// checkBuckets checks the buckets among the elements of a leaf page. Only the tree of the
// whole file has any: ours are not nested.
func (c *checker) checkBuckets(id uint64, all []element, depth int, nested bool) error {
	for _, e := range all {
		if e.flags == 0 {
			continue
		}
		err := errors.New("not a valid bucket")
		if e.flags == bucketElement && !nested && len(e.value) >= bucketSize {
			err = c.checkBucket(e.value, depth)
		}
		if err != nil {
			return fmt.Errorf("page %d: bucket %x: %w", id, e.key, err)
		}
	}
	return nil
}

// checkBucket checks a bucket: one with a tree of its own, or with one inline page.
func (c *checker) checkBucket(value []byte, depth int) error {
	root, page := byteOrder.Uint64(value), value[bucketSize:]
	switch {
	case root != 0 && len(page) != 0:
		return errors.New("it has both a tree and an inline page")
	case root != 0:
		return c.checkTree(root, keyRange{}, depth+1, true)
	case len(page) < headerSize:
		return errors.New("its inline page is truncated")
	}
	if h := parseHeader(page); h != (pageHeader{flags: leafPage, count: h.count}) {
		return errors.New("its inline page has a wrong header")
	}
	all, err := parseElements(page, keyRange{})
	if err == nil && slices.ContainsFunc(all, func(e element) bool { return e.flags != 0 }) {
		return errors.New("it has a bucket in it")
	}
	return err
}

// readPage reads a page of one of the given kinds, with those that continue it, and
// visits them all.
func (c *checker) readPage(id uint64, kinds ...uint16) ([]byte, error) {
	if id >= c.highWater {
		return nil, fmt.Errorf("page %d is beyond its %d pages", id, c.highWater)
	}
	page, err := c.read(id, 1)
	if err != nil {
		return nil, err
	}
	h := parseHeader(page)
	pages := uint64(h.overflow) + 1
	if h.id != id || !slices.Contains(kinds, h.flags) || pages > c.highWater-id {
		return nil, fmt.Errorf("page %d has a wrong header", id)
	}
	for i := range pages {
		if err := c.visit(id + i); err != nil {
			return nil, err
		}
	}
	if pages == 1 {
		return page, nil
	}
	return c.read(id, pages)
}

func (c *checker) read(id, pages uint64) ([]byte, error) {
	data := make([]byte, pages*pageSize)
	if _, err := c.file.ReadAt(data, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("page %d can't be read: %w", id, err)
	}
	return data, nil
}

// visit marks a page as used. It fails if the page is in use already.
func (c *checker) visit(id uint64) error {
	if id >= c.highWater || c.visited[id] {
		return fmt.Errorf("page %d is in use twice, or beyond its %d pages", id, c.highWater)
	}
	c.visited[id] = true
	c.visits++
	return nil
}
