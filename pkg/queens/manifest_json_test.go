package queens_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// sampleManifest is a stored manifest with every field except "placed".
const sampleManifest = `{"splitter":2,"method":"prefixes","n":4,"symmetry":"mirror","tasks":5,` +
	`"hash":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",` +
	`"classes":[{"weight":4,"allow":[3,15,15,15],"depth":2,"batch":1,"first":0},` +
	`{"weight":2,"allow":[4,3,15,15],"depth":4,"batch":16384,"first":3}]}`

// The format of a manifest never changes: ledgers on disk use it.
func TestManifestIsPinned(t *testing.T) {
	var m queens.Manifest
	if err := json.Unmarshal([]byte(sampleManifest), &m); err != nil {
		t.Fatal(err)
	}
	want := queens.Manifest{SplitVersion: 2, Method: queens.Prefixes, N: 4, Symmetry: queens.Mirror,
		Tasks: 5}
	for i := range want.Hash {
		want.Hash[i] = byte(i)
	}
	first, second := queens.FullBoard(4), queens.FullBoard(4)
	first.Allow[0], second.Allow[0], second.Allow[1] = 3, 4, 3
	want.Classes = []queens.ClassPlan{
		{Class: queens.Class{Board: first, Weight: 4}, Depth: 2, Batch: 1},
		{Class: queens.Class{Board: second, Weight: 2}, Depth: 4, Batch: queens.MaxBatch, First: 3},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("it is read as %+v, want %+v", m, want)
	}
	if kept, err := json.Marshal(want); string(kept) != sampleManifest || err != nil {
		t.Errorf("it is kept as\n%s (error %v), want\n%s", kept, err, sampleManifest)
	}
}

// sampleHalves is a stored manifest of a count by the method halves.
const sampleHalves = `{"splitter":5,"method":"halves","n":4,"symmetry":"full","tasks":2,` +
	`"hash":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",` +
	`"classes":[{"weight":1,"allow":[15,15,15,15],"depth":0,"batch":3,"first":0}]}`

// A manifest of the method halves has one class, the full board, of weight 1, and nothing that only
// prefixes have.
func TestManifestOfHalves(t *testing.T) {
	with := func(before, after string) error {
		if !strings.Contains(sampleHalves, before) {
			t.Fatalf("%s is not in %s", before, sampleHalves)
		}
		return json.Unmarshal([]byte(strings.Replace(sampleHalves, before, after, 1)),
			new(queens.Manifest))
	}
	checkAll(t, []validity{
		{"plain", with(`"n":4`, `"n":4`), ""},
		{"no method", with(`"method":"halves",`, ``), "no method"},
		{"another method", with(`"halves"`, `"\u001b[2J"`), "no method"},
		{"prefixes", with(`"halves"`, `"prefixes"`), "prefixes of 0 rows"},
		{"another symmetry", with(`"full"`, `"mirror"`), "symmetry"},
		{"a placed queen", with(`"full"`, `"none","placed":[[0,2]]`), "symmetry"},
		{"two classes", with(`"first":0}`,
			`"first":0},{"weight":1,"allow":[15,15,15,15],"depth":0,"batch":3,"first":2}`), "2 classes"},
		{"a weight of 2", with(`"weight":1`, `"weight":2`), "of weight 1"},
		{"a square less", with(`[15,15,15,15]`, `[7,15,15,15]`), "the full board"},
		{"a depth", with(`"depth":0`, `"depth":2`), "prefixes of 2 rows"},
		{"no row set a task", with(`"batch":3`, `"batch":0`), "0 row sets"},
		{"too many row sets a task", with(`"batch":3`, `"batch":16385`), "16385 row sets"},
	})
}

// Encoding and decoding does not change a manifest.
func TestManifestsRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		m := randomManifest(rand.New(rand.NewPCG(seed, 0)))
		kept, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var got queens.Manifest
		if err := json.Unmarshal(kept, &got); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("seed %d: %+v is read as %+v (error %v)", seed, m, got, err)
		}
	}
}

// An invalid or damaged manifest is rejected with an error that says why, and the receiver is
// not modified.
func TestInvalidManifests(t *testing.T) {
	_, classes, _ := strings.Cut(sampleManifest, `"classes":`)
	with := func(before, after string) error {
		if !strings.Contains(sampleManifest, before) {
			t.Fatalf("%s is not in %s", before, sampleManifest)
		}
		var read queens.Manifest
		err := json.Unmarshal([]byte(strings.Replace(sampleManifest, before, after, 1)), &read)
		if err != nil && !reflect.DeepEqual(read, queens.Manifest{}) {
			t.Errorf("%s instead of %s: read as %+v all the same", after, before, read)
		}
		return err
	}
	checkAll(t, []validity{
		{"plain", with(`"n":4`, `"n":4`), ""},
		{"nothing", with(sampleManifest, `{}`), "hash"},
		{"null", with(sampleManifest, `null`), "hash"},
		{"cut short", with(`}]}`, `}]`), "unexpected end"},
		{"a short hash", with(`"0001`, `"00`), "hexadecimal"},
		{"a long hash", with(`"0001`, `"000001`), "hexadecimal"},
		{"a hash of other letters", with(`"0001`, `"000x`), "hexadecimal"},
		{"no side", with(`"n":4`, `"n":0`), "from 1 to 32"},
		{"another side", with(`"n":4`, `"n":5`), "class 0"},
		{"a side of 33", with(`"n":4`, `"n":33`), "from 1 to 32"},
		{"a negative side", with(`"n":4`, `"n":-4`), "from 1 to 32"},
		{"33 rows on a side of 33", with(sampleManifest, manyRows(33)), "from 1 to 32"},
		{"a symmetry that a terminal interprets", with(`"symmetry":"`, `"symmetry":"\u001b[2J`),
			"no symmetry"},
		{"no class", with(classes, `[]}`), "no class"},
		{"a row less", with(`[3,15,15,15]`, `[3,15,15]`), "class 0"},
		{"a mask beyond the board", with(`[4,3,15,15]`, `[4,3,16,15]`), "class 1 of the manifest: row 2"},
		{"a mask beyond any board", with(`[4,3,15,15]`, `[4,3,4294967296,15]`), "allow"},
		{"no weight", with(`"weight":2,`, ``), "use the version of nqueens that started the run"},
		{"a weight of 3", with(`"weight":2`, `"weight":3`), "weight 3"},
		{"a weight of 16", with(`"weight":2`, `"weight":16`), "weight 16"},
		{"no depth to go", with(`"depth":2`, `"depth":-1`), "-1 rows"},
		{"deeper than the board", with(`"depth":4`, `"depth":5`), "5 rows"},
		{"no prefix a task", with(`"batch":1,`, `"batch":0,`), "0 prefixes"},
		{"too many prefixes a task", with(`16384`, `16385`), "16385 prefixes"},
		{"tasks before the first class", with(`"first":0`, `"first":1`), "task 1"},
		{"a class beyond the tasks", with(`"first":3`, `"first":6`), "task 6"},
		{"classes in another order",
			with(`"first":3}`, `"first":3},{"weight":2,"allow":[4,3,15,15],"depth":4,"batch":1,"first":2}`),
			"class 2"},
		{"a negative number of tasks", with(`"tasks":5`, `"tasks":-5`), "tasks"},
	})
}

// manyRows returns a manifest of side 33. Its boards have n rows, each of which allows only column
// 0.
func manyRows(n int) string {
	rows := "[1" + strings.Repeat(",1", n-1) + "]"
	return strings.NewReplacer(`"n":4`, `"n":33`, `[3,15,15,15]`, rows, `[4,3,15,15]`,
		rows).Replace(sampleManifest)
}

// No input makes the decoder panic. A manifest that it accepts is valid, and does not change when
// it is encoded and decoded.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(sampleManifest))
	f.Add([]byte(sampleHalves))
	f.Add([]byte(manyRows(33)))
	f.Add([]byte(strings.Replace(sampleManifest, `"mirror"`, `"none","placed":[[0,2],[3,1]]`, 1)))
	f.Add([]byte(strings.Replace(sampleManifest, `"tasks"`, `"placed":[],"tasks"`, 1)))
	f.Fuzz(func(t *testing.T, kept []byte) {
		var read queens.Manifest
		if json.Unmarshal(kept, &read) != nil {
			return
		}
		if err := read.Validate(); err != nil {
			t.Fatalf("what is read is not valid: %v", err)
		}
		again, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		var reread queens.Manifest
		if err := json.Unmarshal(again, &reread); err != nil || !reflect.DeepEqual(reread, read) {
			t.Fatalf("%+v kept again is read as %+v (error %v)", read, reread, err)
		}
	})
}

// randomManifest returns a valid manifest, though not one that package split makes.
func randomManifest(rng *rand.Rand) queens.Manifest {
	n := 1 + rng.IntN(queens.MaxN)
	m := queens.Manifest{SplitVersion: rng.IntN(3), Method: queens.Prefixes, N: n,
		Symmetry: queens.Full}
	for range 1 + rng.IntN(8) {
		m.Classes = append(m.Classes, queens.ClassPlan{
			Class: queens.Class{Board: randomBoard(rng, n, rng.IntN(4)), Weight: 1 << rng.IntN(4)},
			Depth: 1 + rng.IntN(n), Batch: 1 + rng.IntN(queens.MaxBatch), First: m.Tasks,
		})
		m.Tasks += rng.Uint64() >> (4 + rng.IntN(60))
	}
	for i := range m.Hash {
		m.Hash[i] = byte(rng.Uint32())
	}
	return m
}
