package bus

import (
	"reflect"
	"testing"

	"nqueens/pkg/queens"
)

// No bytes make a decoder panic. A message that a decoder accepts is the same after encoding and
// decoding it again.

func FuzzFromWorker(f *testing.F) {
	request, _ := EncodeRequest(&someRequest)
	delivery, _ := EncodeDelivery(&someDelivery)
	encode := func(m FromWorker) ([]byte, error) {
		if m.Request != nil {
			return EncodeRequest(m.Request)
		}
		return EncodeDelivery(m.Delivery)
	}
	fuzz(f, DecodeFromWorker, encode, request, delivery)
}

func FuzzWorkReply(f *testing.F) {
	data, _ := EncodeWorkReply(&someReply)
	fuzz(f, DecodeWorkReply, EncodeWorkReply, data)
}

func FuzzDeliveryReply(f *testing.F) {
	data, _ := EncodeDeliveryReply(&someReceipts)
	fuzz(f, DecodeDeliveryReply, EncodeDeliveryReply, data)
}

func FuzzAnnouncement(f *testing.F) {
	data, _ := EncodeAnnouncement(&someAnnouncement)
	fuzz(f, DecodeAnnouncement, func(a queens.Announcement) ([]byte, error) {
		return EncodeAnnouncement(&a)
	}, data)
}

func FuzzSnapshot(f *testing.F) {
	data, _ := encodeSnapshot(someSnapshot())
	fuzz(f, func(data []byte) (*queens.Snapshot, error) {
		return DecodeSnapshot("r", data)
	}, encodeSnapshot, data)
}

func fuzz[T any](
	f *testing.F, decode func([]byte) (T, error), encode func(T) ([]byte, error), seeds ...[]byte,
) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(m)
		if err != nil {
			t.Fatalf("%+v can't be encoded: %v", m, err)
		}
		if got, err := decode(again); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v, encoded and decoded, is %+v (error %v)", m, got, err)
		}
	})
}
