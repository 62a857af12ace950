// Package boltstore keeps applications in a bbolt file: a storage driver as the
// vendor of a key-value store makes one, from the SDK and a database client.
//
// bbolt has one writer at a time, and readers that see one instant, which is what
// sdk/storage/kv builds on. What is here is the file and its transactions. One
// process has the file open.
package boltstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/authzhost/authz/sdk/storage"
	"github.com/authzhost/authz/sdk/storage/kv"
)

// Name is the driver's.
const Name = "bolt"

// Capabilities are the optional operations that the driver has.
var Capabilities = kv.Capabilities

const fileWait = 5 * time.Second // for a process that is about to exit

var bucket = []byte("authz")

// Open opens the file, or makes it.
func Open(path string, lease time.Duration) (storage.Driver, error) {
	file, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: fileWait, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, storage.Unavailable("", err, "another process has the file open")
	}
	if err != nil {
		return nil, err
	}
	err = file.Update(func(t *bolt.Tx) error {
		_, err := t.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return kv.New(db{file}, kv.Options{Name: Name, Durable: true, Lease: lease}), nil
}

// db is the file. A commit that bbolt could not finish is of unknown fate: its last
// page may have reached the disk all the same.
type db struct{ file *bolt.DB }

func (d db) View(_ context.Context, read func(kv.Tx) error) error {
	return d.file.View(func(t *bolt.Tx) error { return read(tx{t.Bucket(bucket)}) })
}

func (d db) Update(_ context.Context, change func(kv.Tx) error) error {
	return d.file.Update(func(t *bolt.Tx) error { return change(tx{t.Bucket(bucket)}) })
}

func (d db) Close() error { return d.file.Close() }

type tx struct{ rows *bolt.Bucket }

func (t tx) Get(key []byte) ([]byte, error) { return t.rows.Get(key), nil }

func (t tx) Put(key, value []byte) error {
	err := t.rows.Put(key, value)
	if errors.Is(err, bolterrors.ErrKeyTooLarge) || errors.Is(err, bolterrors.ErrValueTooLarge) {
		return fmt.Errorf("%w: %w", kv.ErrTooLarge, err)
	}
	return err
}

func (t tx) Delete(key []byte) error { return t.rows.Delete(key) }

func (t tx) Scan(from []byte, each func(key []byte) bool) error {
	c := t.rows.Cursor()
	for key, _ := c.Seek(from); key != nil && each(key); key, _ = c.Next() {
	}
	return nil
}
