package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// settingsID is the record of Settings, in the partition that they bind.
const settingsID = "settings"

// Settings is what an application configures outside storage and what binds every
// writer of its partition. Its own process publishes it; a peer obeys it
// (spec: mesh §5.1).
type Settings struct {
	SoDEnforce application.SoDEnforce `json:"sodEnforce"`
	HashChain  bool                   `json:"hashChain"`

	// Imports is that rows of other members take part in the application's checks.
	Imports bool `json:"imports,omitempty"`

	// EventsOff is that the application does not keep its events, though its driver
	// could: nobody else can follow what it writes.
	EventsOff bool `json:"eventsOff,omitempty"`
}

// persisted reports that what is written to a partition is told by its log.
func persisted(ctx context.Context, s storage.Store) (bool, error) {
	if !s.Info().Capabilities.Has(storage.CapEvents) {
		return false, nil
	}
	settings, err := settingsOf(ctx, s)
	return !settings.EventsOff, err
}

// PublishSettings stores what binds writers of the own partition. It writes nothing
// where that is stored already.
func (c *Connection) PublishSettings(ctx context.Context, own Settings) error {
	if own.SoDEnforce == "" {
		own.SoDEnforce = application.SoDOff
	}
	s, err := c.store(ctx, c.partition)
	if err != nil {
		return err
	}
	data, err := authz.Marshal(own)
	if err != nil {
		return fmt.Errorf("encode the settings: %w", err)
	}
	for range maxRaces {
		row, found, err := s.GetRecord(ctx, collection, settingsID)
		if err != nil {
			return failed("publish the settings of "+c.partition, err)
		}
		if found && bytes.Equal(row.Data, data) {
			return nil
		}
		now := c.clock()
		_, err = s.Commit(ctx, storage.Commit{ID: uuid.NewString(), At: now, Incarnation: s.Info().Incarnation, Changes: []storage.Change{
			storage.PutRecord{Expect: row.Version, Record: storage.Record{Collection: collection, ID: settingsID, Data: data, UpdatedAt: now}}}})
		if err == nil || storage.CodeOf(err) != storage.CodeConflict {
			return orFailed("publish the settings of "+c.partition, err)
		}
	}
	return unavailable("publish the settings of "+c.partition, errRaced)
}

// settingsOf reads what binds writers of a partition; the zero value where nothing is
// stored. What this program cannot read it must not ignore.
func settingsOf(ctx context.Context, s storage.Store) (Settings, error) {
	settings := Settings{SoDEnforce: application.SoDOff}
	row, found, err := s.GetRecord(ctx, collection, settingsID)
	if err != nil || !found {
		return settings, err
	}
	decoder := json.NewDecoder(bytes.NewReader(row.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return settings, fmt.Errorf("decode the settings of a partition: %w", err)
	}
	return settings, nil
}
