package ledger

import "go.etcd.io/bbolt"

// Rejections returns the stored rejected results, in order of arrival.
func (l *Ledger) Rejections() (all []Rejection, err error) {
	err = l.view(func(tx *bbolt.Tx) (err error) {
		all, err = l.readRejections(tx)
		return err
	})
	return all, err
}
