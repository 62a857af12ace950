package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/authzhost/authz/sdk/storage"
)

// The record of a directory's state, in the application's partition.
const stateCollection = "directories"

// state outlives the host where the driver keeps records.
type state struct {
	Last        *Outcome `json:"last,omitempty"`
	LastSuccess *Outcome `json:"lastSuccess,omitempty"`
	Cursor      string   `json:"cursor,omitempty"`
	CursorOf    string   `json:"cursorOf,omitempty"` // the importer that knows it

	version int64
}

func (d *Directory) keepsRecords() bool {
	return d.o.Store.Info().Capabilities.Has(storage.CapRecords)
}

// load takes over what any host stored last. Without records it is what this host
// did.
func (d *Directory) load(ctx context.Context) (state, error) {
	if !d.keepsRecords() {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.state, nil
	}
	d.mu.Lock()
	before := d.saves
	d.mu.Unlock()
	row, found, err := d.o.Store.GetRecord(ctx, stateCollection, d.o.Name)
	if err != nil {
		return state{}, err
	}
	next := state{}
	if found {
		if err := json.Unmarshal(row.Data, &next); err != nil {
			return state{}, fmt.Errorf("the state of the directory is malformed: %w", err)
		}
		next.version = row.Version
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.saves != before { // by this host, and since: what was read is older
		return d.state, nil
	}
	d.state = next
	return next, nil
}

const (
	// saveTime bounds the writing of the state, however the run ended.
	saveTime = 10 * time.Second

	// maxSaves is how often a write of unknown fate is sent.
	maxSaves = 3
)

// save stores what became of a run, and the cursor of one that succeeded: never
// before the rows stand, so that what was read is not skipped. It follows on the state
// that the run loaded: a status may have been read before and told since.
func (d *Directory) save(ctx context.Context, next state, o *Outcome, cursor string) error {
	next.Last = o
	if o.Result == Succeeded {
		next.LastSuccess, next.Cursor, next.CursorOf = o, cursor, d.o.ImporterName
	}
	defer func() { // also when it could not be stored: it is what this host knows
		d.mu.Lock()
		d.state = next
		d.saves++
		d.mu.Unlock()
	}()
	if !d.keepsRecords() {
		return nil
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	now := d.o.Clock().UnixMilli()
	commit := storage.Commit{ID: uuid.NewString(), At: now, Fences: storage.Held(ctx, d.o.Store), Changes: []storage.Change{
		storage.PutRecord{Record: storage.Record{Collection: stateCollection, ID: d.o.Name, Data: raw, UpdatedAt: now}, Expect: next.version},
	}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	for range maxSaves {
		if _, err = d.o.Store.Commit(ctx, commit); storage.CodeOf(err) != storage.CodeUnavailable {
			return err
		}
	}
	return err
}
