package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"
)

// In another version any field may have another meaning: the version is checked first, and
// the error names both versions.
func TestOtherProtocolVersionsAreRejected(t *testing.T) {
	for _, version := range []uint32{1, 2, Protocol + 1, 1 << 31} {
		// Hollow messages: a reader that did not stop at the version would return another error.
		chunk, result := &nqueensv1.Chunk{Protocol: version}, &nqueensv1.ChunkResult{Protocol: version}
		heartbeat, announcement := &nqueensv1.Heartbeat{Protocol: version, Worker: "old"}, &wireAnnouncement{Protocol: version}
		_, chunkErr := decodeChunk("nq.task.x", must(proto.Marshal(chunk)))
		_, resultErr := decodeResult("nq.result.x", must(proto.Marshal(result)))
		_, heartbeatErr := decodeHeartbeat("", must(proto.Marshal(heartbeat)))
		_, announcementErr := decodeAnnouncement("nq.live.x", must(json.Marshal(announcement)))
		for kind, err := range map[string]error{"chunk": chunkErr, "result": resultErr, "heartbeat": heartbeatErr, "announcement": announcementErr} {
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

// No program writes version 0: an empty message has it, and garbage that happens to parse.
// It is not kept for a program that could read it.
func TestMessagesWithoutAVersionAreRejected(t *testing.T) {
	chunk, result, heartbeat, announcement := chunkMessage(), resultMessage(), heartbeatMessage(), announcementMessage()
	chunk.Protocol, result.Protocol, heartbeat.Protocol, announcement.Protocol = 0, 0, 0, 0
	_, chunkErr := decodeChunk(taskSubject(chunk.Run), must(proto.Marshal(chunk)))
	_, resultErr := decodeResult(resultSubject("n8-a"), must(proto.Marshal(result)))
	_, heartbeatErr := decodeHeartbeat("", must(proto.Marshal(heartbeat)))
	_, announcementErr := decodeAnnouncement(announcementSubject(announcement.Run), must(json.Marshal(announcement)))
	_, emptyErr := decodeChunk("nq.task.x", nil)
	for kind, err := range map[string]error{
		"chunk": chunkErr, "result": resultErr, "heartbeat": heartbeatErr, "announcement": announcementErr, "empty message": emptyErr,
	} {
		if err == nil || errors.As(err, new(versionError)) {
			t.Errorf("a %s of no version: error %v", kind, err)
		}
	}
}
