package bus

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"
)

// In another version any field may have another meaning: the version is checked first, and
// the error names both versions.
func TestOtherProtocolVersionsAreRejected(t *testing.T) {
	for _, version := range []uint32{1, 2, Protocol + 1, 1 << 31} {
		// Hollow messages: a reader that did not stop at the version would return another error.
		chunk, result := &nqueensv1.Chunk{Protocol: version}, &nqueensv1.ChunkResult{Protocol: version}
		heartbeat, beat := &nqueensv1.Heartbeat{Protocol: version, Worker: "old"}, &nqueensv1.Beat{Protocol: version}
		_, chunkErr := decodeChunk("nq.task.x", must(proto.Marshal(chunk)))
		_, resultErr := decodeResult("nq.result.x", must(proto.Marshal(result)))
		_, heartbeatErr := decodeHeartbeat("", must(proto.Marshal(heartbeat)))
		_, beatErr := decodeBeat("nq.live.x", must(proto.Marshal(beat)))
		for kind, err := range map[string]error{"chunk": chunkErr, "result": resultErr, "heartbeat": heartbeatErr, "beat": beatErr} {
			checkVersion(t, kind, version, err)
		}
	}
}

func checkVersion(t *testing.T, kind string, version uint32, err error) {
	t.Helper()
	if !errors.As(err, new(versionError)) {
		t.Errorf("a %s of version %d: error %v", kind, version, err)
		return
	}
	for _, named := range []string{fmt.Sprintf("version %d", version), fmt.Sprintf("version %d", Protocol)} {
		if !strings.Contains(err.Error(), named) {
			t.Errorf("a %s of version %d: error %q does not name %s", kind, version, err, named)
		}
	}
}

// Messages that programs of version 1 have written are refused for their version, not as
// garbage. The error of a heartbeat names the worker.
func TestMessagesOfVersion1AreRefusedForTheirVersion(t *testing.T) {
	for kind, data := range map[string][]byte{
		"task": wire1("n8-a", 2, uint64(3), 3, uint64(1), 4, fixed(0xfeedfacecafebeef), 5, uint64(8), 6,
			strings.Repeat("\xff\x00\x00\x00", 8), 7, "\x08\x01\x15\x01\x00\x00\x00", 8, "worker \"x\"", 9),
		"result": wire1("n8-a", 2, uint64(3), 3, uint64(1), 4, fixed(0xfeedfacecafebeef), 5, uint64(4), 6,
			"old", 7, "generic", 8, uint64(1), 9),
		"heartbeat": wire1("old", 2, "1.0", 3, "generic", 4, uint64(2), 5, "\x0a\x04n8-a\x10\x07\x18\x05", 7),
	} {
		_, chunkErr := decodeChunk("nq.task.n8-a", data)
		_, resultErr := decodeResult("nq.result.n8-a", data)
		_, heartbeatErr := decodeHeartbeat("", data)
		err := map[string]error{"task": chunkErr, "result": resultErr, "heartbeat": heartbeatErr}[kind]
		checkVersion(t, kind, 1, err)
		if version := (versionError{}); kind == "heartbeat" && errors.As(err, &version) && version.worker != "old" {
			t.Errorf("the %s is said to be of worker %q", kind, version.worker)
		}
	}
}

type fixed uint64

// wire1 returns a message of version 1 (field 1) and of the values, each followed by the
// number of its field.
func wire1(values ...any) []byte {
	data := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	for i := 0; i < len(values); i += 2 {
		field := protowire.Number(values[i+1].(int))
		switch v := values[i].(type) {
		case string:
			data = protowire.AppendString(protowire.AppendTag(data, field, protowire.BytesType), v)
		case uint64:
			data = protowire.AppendVarint(protowire.AppendTag(data, field, protowire.VarintType), v)
		case fixed:
			data = protowire.AppendFixed64(protowire.AppendTag(data, field, protowire.Fixed64Type), uint64(v))
		}
	}
	return data
}

// No program writes version 0: an empty message has it, and garbage that happens to parse.
// It is not kept for a program that could read it.
func TestMessagesWithoutAVersionAreRejected(t *testing.T) {
	chunk, result, heartbeat, beat := chunkMessage(), resultMessage(), heartbeatMessage(), beatMessage()
	chunk.Protocol, result.Protocol, heartbeat.Protocol, beat.Protocol = 0, 0, 0, 0
	_, chunkErr := decodeChunk(taskSubject(chunk.Run), must(proto.Marshal(chunk)))
	_, resultErr := decodeResult(resultSubject("n8-a"), must(proto.Marshal(result)))
	_, heartbeatErr := decodeHeartbeat("", must(proto.Marshal(heartbeat)))
	_, beatErr := decodeBeat(beatSubject(beat.Run), must(proto.Marshal(beat)))
	_, emptyErr := decodeChunk("nq.task.x", nil)
	for kind, err := range map[string]error{
		"chunk": chunkErr, "result": resultErr, "heartbeat": heartbeatErr, "beat": beatErr, "empty message": emptyErr,
	} {
		if err == nil || errors.As(err, new(versionError)) {
			t.Errorf("a %s of no version: error %v", kind, err)
		}
	}
}
