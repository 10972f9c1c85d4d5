package bus

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/identity"
	"nqueens/pkg/run"
)

// Results in the wire format: the text that the worker has signed, its key and the signature.
// Nothing of a result travels beside that text, so nothing of it can be changed on the way.

// maxResultMessage bounds the message of a result, in bytes.
const maxResultMessage = run.MaxStatement + 1<<10

// encodeResult returns the message of a result that was sealed.
func encodeResult(r *run.ChunkResult) ([]byte, error) {
	if r.Sealed == nil {
		return nil, fmt.Errorf("the result of chunk %016x is not sealed: no coordinator would accept it", r.Chunk)
	}
	return proto.Marshal(&nqueensv1.ChunkResult{
		Protocol:  Protocol,
		Statement: r.Sealed.Statement,
		Key:       r.Sealed.Key,
		Signature: r.Sealed.Signature,
		Admission: r.Admission,
	})
}

// decodeResult returns a valid result, which the owner of its key has signed. Whether the key is
// admitted, and the result matches a chunk of the run, is for the coordinator to check.
func decodeResult(subject string, data []byte) (run.ChunkResult, error) {
	if len(data) > maxResultMessage {
		return run.ChunkResult{}, fmt.Errorf("result of %d bytes, more than %d", len(data), maxResultMessage)
	}
	var m nqueensv1.ChunkResult
	if err := unmarshal(data, &m); err != nil {
		return run.ChunkResult{}, err
	}
	switch {
	case len(m.ProtoReflect().GetUnknown()) > 0:
		return run.ChunkResult{}, errors.New("result with a field that this program does not know")
	case len(m.GetAdmission()) > run.MaxAdmission:
		return run.ChunkResult{}, fmt.Errorf("result with an admission of %d bytes, more than %d", len(m.GetAdmission()), run.MaxAdmission)
	}
	if err := identity.Verify(m.GetKey(), m.GetStatement(), m.GetSignature()); err != nil {
		return run.ChunkResult{}, fmt.Errorf("result that was changed on the way or signed by another key: %w", err)
	}
	r, err := run.ParseStatement(m.GetStatement())
	if err != nil {
		return run.ChunkResult{}, err
	}
	if err := validate(&r, subject, resultSubject(r.Run)); err != nil {
		return run.ChunkResult{}, err
	}
	r.Sealed = &run.Sealed{Key: m.GetKey(), Statement: m.GetStatement(), Signature: m.GetSignature()}
	r.Admission = m.GetAdmission()
	return r, nil
}
