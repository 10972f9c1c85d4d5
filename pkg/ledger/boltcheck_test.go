package ledger

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"nqueens/pkg/testkit"
)

// Whatever bbolt writes is found sound: pages that split, merge, overflow and become free,
// and buckets that are created and deleted.
func TestWhatBoltWritesIsSound(t *testing.T) {
	rng := testkit.Rand(t)
	rounds := 120
	if !testkit.Full() {
		rounds = 40
	}
	path := filepath.Join(t.TempDir(), "bolt.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const keys = 20_000
	for round := range rounds {
		err := db.Update(func(tx *bbolt.Tx) error {
			if round%40 == 39 {
				return tx.DeleteBucket(key64(uint64(rng.IntN(2))))
			}
			for i := range uint64(2) {
				bucket, err := tx.CreateBucketIfNotExists(key64(i))
				if err != nil {
					return err
				}
				bucket.FillPercent = 0.3 + 0.7*rng.Float64()
				for range 1 + rng.IntN(600) {
					size := rng.IntN(60)
					if rng.IntN(100) == 0 {
						size = rng.IntN(30_000)
					}
					if err := bucket.Put(key64(rng.Uint64N(keys)), make([]byte, size)); err != nil {
						return err
					}
				}
				first := rng.Uint64N(keys)
				for key := range uint64(rng.IntN(2)) * rng.Uint64N(keys/2) {
					if err := bucket.Delete(key64(first + key)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, path, fmt.Sprintf("round %d", round))
	}
}

func checkFile(t *testing.T, path, what string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err == nil {
		err = checkStructure(file, info.Size())
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A file is refused with the reason unless its pages are one tree and the free pages, each
// page once and each key in order; also if following its pages would never end.
func TestStructure(t *testing.T) {
	for _, c := range []struct {
		name  string
		high  uint64
		build func(*fakeFile)
		says  string // empty if the file is sound
	}{
		{"an empty tree", 4, func(*fakeFile) {}, ""},
		{"a tree", 6, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("b", 4), child("d", 5))
			b.set(4, leafPage, 0, leaf("b"), leaf("c"))
			b.set(5, leafPage, 0, leaf("d"))
		}, ""},
		{"buckets", 6, func(b *fakeFile) {
			b.set(3, leafPage, 0, bucket("a", bucketWithRoot(4)), bucket("b", inlineBucket(pageOf(0, leafPage, 0, leaf("x"), leaf("y")))))
			b.set(4, leafPage, 0, leaf("z"))
			b.free(5)
		}, ""},
		{"a page that overflows", 7, func(b *fakeFile) {
			b.set(3, leafPage, 3, element{key: []byte("a"), value: make([]byte, 4*pageSize-33)})
		}, ""},
		{"65535 free pages", 65535 + 4 + 128, func(b *fakeFile) {
			ids := make([]uint64, 65535)
			for i := range ids {
				ids[i] = 132 + uint64(i)
			}
			delete(b.pages, 3)
			b.set(131, leafPage, 0)
			b.meta(0, 1, 131, 2, b.high)
			b.free(ids...)
		}, ""},
		{"the older meta page is damaged", 4, func(b *fakeFile) { b.meta(1, 0, 99, 99, 99)[20] ^= 1 }, ""},
		{"the newer meta page is damaged", 4, func(b *fakeFile) { b.meta(1, 2, 99, 99, 99)[20] ^= 1 }, ""},
		{"both meta pages are damaged", 4, func(b *fakeFile) { b.pages[0][40] ^= 1 }, "neither of its meta pages"},
		{"another magic number", 4, func(b *fakeFile) { b.pages[0][headerSize]++; b.sum(0) }, "neither of its meta pages"},
		{"another version of bbolt", 4, func(b *fakeFile) { b.pages[0][headerSize+4]++; b.sum(0) }, "neither of its meta pages"},
		{"pages of another size", 4, func(b *fakeFile) { byteOrder.PutUint32(b.pages[0][headerSize+8:], 16384); b.sum(0) }, "16384 bytes"},
		{"too short", 4, func(b *fakeFile) { b.meta(0, 1, 3, 2, 5) }, "too few for 5 pages"},
		{"as long as can be", 4, func(b *fakeFile) { b.meta(0, 1, 3, 2, 1<<63) }, "too few"},
		{"no pages", 4, func(b *fakeFile) { b.meta(0, 1, 3, 2, 1) }, "within its meta pages"},
		{"a root beyond the end", 4, func(b *fakeFile) { b.meta(0, 1, 4, 2, 4) }, "page 4 is beyond"},
		{"no list of free pages", 4, func(b *fakeFile) { b.meta(0, 1, 3, 1<<64-1, 4) }, "free pages: page 18446744073709551615 is beyond"},
		{"a root among the meta pages", 4, func(b *fakeFile) { b.pages[1] = pageOf(1, leafPage, 0); b.meta(0, 1, 1, 2, 4) }, "page 1 is in use twice"},
		{"another id", 4, func(b *fakeFile) { b.pages[3][0]++ }, "page 3 has a wrong header"},
		{"another kind", 4, func(b *fakeFile) { b.set(3, freelistPage, 0) }, "page 3 has a wrong header"},
		{"two kinds", 4, func(b *fakeFile) { b.set(3, leafPage|branchPage, 0) }, "page 3 has a wrong header"},
		{"overflow beyond the end", 4, func(b *fakeFile) { b.set(3, leafPage, 1) }, "page 3 has a wrong header"},
		{"all of overflow", 4, func(b *fakeFile) { b.set(3, leafPage, 1<<32-1) }, "page 3 has a wrong header"},
		{"overflow into what is in use", 5, func(b *fakeFile) { b.meta(0, 1, 4, 2, 5); b.set(2, freelistPage, 2); b.set(4, leafPage, 0) }, "page 4 is in use twice"},
		{"a page lost", 5, func(*fakeFile) {}, "1 of its 5 pages"},
		{"a page free and in use", 4, func(b *fakeFile) { b.free(3) }, "page 3 is in use twice"},
		{"a free page twice", 6, func(b *fakeFile) { b.free(4, 4) }, "page 4 is out of order"},
		{"free pages out of order", 6, func(b *fakeFile) { b.free(5, 4) }, "page 4 is out of order"},
		{"a free meta page", 4, func(b *fakeFile) { b.free(0) }, "page 0 is out of order"},
		{"a free page beyond the end", 4, func(b *fakeFile) { b.free(4) }, "page 4 is out of order"},
		{"too many free pages", 4, func(b *fakeFile) { byteOrder.PutUint16(b.pages[2][10:], 511) }, "511 do not fit"},
		{"far too many free pages", 4, func(b *fakeFile) {
			byteOrder.PutUint16(b.pages[2][10:], 0xFFFF)
			b.pages[2] = byteOrder.AppendUint64(b.pages[2], 1<<63)
		}, "9223372036854775808 do not fit"},
		{"a circle", 4, func(b *fakeFile) { b.set(3, branchPage, 0, child("a", 3)) }, "page 3 is in use twice"},
		{"a child twice", 5, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("a", 4), child("b", 4))
			b.set(4, leafPage, 0, leaf("a"))
		}, "page 4 is in use twice"},
		{"a branch without children", 4, func(b *fakeFile) { b.set(3, branchPage, 0) }, "a branch without children"},
		{"an empty leaf", 6, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("a", 4), child("b", 5))
			b.set(4, leafPage, 0)
			b.set(5, leafPage, 0, leaf("b"))
		}, "page 4: its first key"},
		{"a leaf that begins too early", 5, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("b", 4))
			b.set(4, leafPage, 0, leaf("a"))
		}, "page 4: its first key"},
		{"a leaf that ends too late", 6, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("a", 4), child("c", 5))
			b.set(4, leafPage, 0, leaf("a"), leaf("c"))
			b.set(5, leafPage, 0, leaf("c"))
		}, "page 4: key 63 is out of order"},
		{"a leaf far below that ends too late", 8, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("a", 4), child("c", 5))
			b.set(4, branchPage, 0, child("a", 6))
			b.set(5, branchPage, 0, child("c", 7))
			b.set(6, leafPage, 0, leaf("a"), leaf("d"))
			b.set(7, leafPage, 0, leaf("c"))
		}, "page 6: key 64 is out of order"},
		{"keys out of order", 4, func(b *fakeFile) { b.set(3, leafPage, 0, leaf("b"), leaf("a")) }, "key 62 is out of order"},
		{"a key twice", 4, func(b *fakeFile) { b.set(3, leafPage, 0, leaf("b"), leaf("b")) }, "key 62 is out of order"},
		{"branches out of order", 6, func(b *fakeFile) {
			b.set(3, branchPage, 0, child("b", 4), child("a", 5))
			b.set(4, leafPage, 0, leaf("b"))
			b.set(5, leafPage, 0, leaf("a"))
		}, "page 3: key 62 is out of order"},
		{"no key", 4, func(b *fakeFile) { b.set(3, leafPage, 0, leaf("")) }, "element 0 is misplaced"},
		{"too many elements", 4, func(b *fakeFile) { byteOrder.PutUint16(b.pages[3][10:], 256) }, "256 elements do not fit"},
		{"an element elsewhere", 4, func(b *fakeFile) { b.set(3, leafPage, 0, leaf("a")); b.pages[3][headerSize+4]++ }, "element 0 is misplaced"},
		{"a value beyond the page", 4, func(b *fakeFile) { b.set(3, leafPage, 0, element{key: []byte("a"), value: make([]byte, pageSize)}) }, "element 0 is misplaced"},
		{"sizes that wrap", 4, func(b *fakeFile) {
			b.set(3, leafPage, 0, leaf("a"))
			byteOrder.PutUint32(b.pages[3][headerSize+8:], 1<<32-1)
			byteOrder.PutUint32(b.pages[3][headerSize+12:], 1<<32-1)
		}, "element 0 is misplaced"},
		{"no kind of element", 4, func(b *fakeFile) {
			b.set(3, leafPage, 0, element{flags: 2, key: []byte("a"), value: bucketWithRoot(3)})
		}, "not a valid bucket"},
		{"a bucket cut short", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", bucketWithRoot(3)[:15])) }, "not a valid bucket"},
		{"a bucket in a bucket", 6, func(b *fakeFile) {
			b.set(3, leafPage, 0, bucket("a", bucketWithRoot(4)))
			b.set(4, leafPage, 0, bucket("b", bucketWithRoot(5)))
			b.set(5, leafPage, 0)
		}, "not a valid bucket"},
		{"a bucket that is its parent", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", bucketWithRoot(3))) }, "page 3 is in use twice"},
		{"a bucket with both", 5, func(b *fakeFile) {
			b.set(3, leafPage, 0, bucket("a", append(bucketWithRoot(4), pageOf(0, leafPage, 0)...)))
			b.set(4, leafPage, 0)
		}, "it has both"},
		{"an inline page with an id", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(1, leafPage, 0)))) }, "its inline page"},
		{"an inline branch", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(0, branchPage, 0)))) }, "its inline page"},
		{"an inline page that overflows", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(0, leafPage, 1)))) }, "its inline page"},
		{"an inline page cut short", 4, func(b *fakeFile) { b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(0, leafPage, 0)[:15]))) }, "its inline page"},
		{"an inline page with a bucket", 4, func(b *fakeFile) {
			b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(0, leafPage, 0, bucket("b", bucketWithRoot(3))))))
		}, "it has a bucket in it"},
		{"an inline page out of order", 4, func(b *fakeFile) {
			b.set(3, leafPage, 0, bucket("a", inlineBucket(pageOf(0, leafPage, 0, leaf("b"), leaf("a")))))
		}, "key 62 is out of order"},
		{"an inline page with too much", 4, func(b *fakeFile) {
			page := pageOf(0, leafPage, 0)
			page[10] = 1
			b.set(3, leafPage, 0, bucket("a", inlineBucket(page)))
		}, "1 elements do not fit"},
		{"too deep", 100, func(b *fakeFile) {
			for id := range uint64(97) {
				b.set(3+id, branchPage, 0, child("a", 4+id))
			}
		}, "page 35 is 32 pages deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFakeFile(c.high)
			c.build(b)
			err := checkStructure(b, int64(b.high)*pageSize)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error is %v, want %q", err, c.says)
			}
		})
	}
}

// A read error is reported.
func TestStructureUnreadable(t *testing.T) {
	b := newFakeFile(4)
	data := make([]byte, 4*pageSize)
	if _, err := b.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	for length := range len(data) {
		if length%97 > 1 && length%pageSize > 100 {
			continue
		}
		if err := checkStructure(bytes.NewReader(data[:length]), 4*pageSize); err == nil || !strings.Contains(err.Error(), io.EOF.Error()) {
			t.Fatalf("with %d bytes the error is %v", length, err)
		}
	}
}
