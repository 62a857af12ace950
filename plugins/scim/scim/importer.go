package scim

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

const (
	pathConfig = "ServiceProviderConfig"
	pathUsers  = "Users"
	pathGroups = "Groups"

	schemaConfig = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
)

// Importer reads one service. Between readings it keeps the pages that the service
// gave an entity tag, so that an unchanged one is not sent again.
type Importer struct {
	o      checked
	client *client
	open   context.Context // ends with Close
	close  context.CancelFunc

	mu    sync.Mutex
	known pages // of the last whole reading
}

type pages struct {
	users  map[string]kept[user]
	groups map[string]kept[group]
}

// Open checks the options; the service is not asked yet. A refusal is a
// *plugin.ConfigError.
func Open(o Options) (*Importer, error) {
	c, err := check(o)
	if err != nil {
		return nil, err
	}
	i := &Importer{o: c, client: newClient(c)}
	i.open, i.close = context.WithCancel(context.Background())
	return i, nil
}

// Info lists what a reading tells at most.
func (i *Importer) Info() directory.ImporterInfo {
	capabilities := []directory.ImporterCapability{directory.CapUsers}
	if i.o.Groups {
		capabilities = append(capabilities, directory.CapGroups, directory.CapMemberships)
	}
	if i.o.Manager {
		capabilities = append(capabilities, directory.CapReporting)
	}
	if len(i.o.OrgAttributes) > 0 {
		capabilities = append(capabilities, directory.CapOrgs)
	}
	return directory.ImporterInfo{Name: importerName, Capabilities: capabilities}
}

// Close stops the readings that run.
func (i *Importer) Close() error {
	i.close()
	i.client.close()
	return nil
}

// Import reads the service. Nothing is told before every list was read whole.
func (i *Importer) Import(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, i.o.Timeout)
		defer cancel()
		defer context.AfterFunc(i.open, cancel)()
		told, err := i.read(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for entry := range told.entries() {
			if ctx.Err() != nil {
				yield(nil, stopped(ctx))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (i *Importer) read(ctx context.Context) (*reading, error) {
	if i.open.Err() != nil {
		return nil, outage("the importer is closed", nil)
	}
	if ctx.Err() != nil {
		return nil, stopped(ctx)
	}
	s := i.client.session(ctx)
	byCursor, err := s.discover(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	known := i.known
	i.mu.Unlock()
	fresh := pages{map[string]kept[user]{}, map[string]kept[group]{}}

	r := &reading{o: i.o.Options}
	users := list[user]{session: s, path: pathUsers, filter: i.o.UserFilter, byCursor: byCursor, decode: i.o.user,
		id: func(u user) string { return u.id }, known: known.users, fresh: fresh.users}
	if r.users, err = users.read(ctx); err != nil {
		return nil, err
	}
	if i.o.Groups {
		groups := list[group]{session: s, path: pathGroups, filter: i.o.GroupFilter, byCursor: byCursor, decode: i.o.group,
			id: func(g group) string { return g.id }, known: known.groups, fresh: fresh.groups}
		if r.groups, err = groups.read(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.relate(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.known = fresh
	i.mu.Unlock()
	return r, nil
}

// discover asks what the service can do. One that has no such description, which
// RFC 7644 demands, is asked as the configuration says.
func (s *session) discover(ctx context.Context) (byCursor bool, err error) {
	var can struct {
		filter     *struct{ Supported bool }
		pagination *struct{ Cursor, Index *bool }
		schemas    []string
	}
	found := true
	a, err := s.get(ctx, pathConfig, url.Values{}, "", func(body io.Reader) error {
		can.filter, can.pagination, can.schemas = nil, nil, nil
		err := object(body, func(name string, dec *json.Decoder) error {
			switch name {
			case "schemas":
				return dec.Decode(&can.schemas)
			case "filter":
				return dec.Decode(&can.filter)
			case "pagination":
				return dec.Decode(&can.pagination)
			}
			return skip(dec)
		})
		if err != nil {
			return err
		}
		return wantSchema(can.schemas, schemaConfig, "a service's description")
	})
	if a.status == http.StatusNotFound || a.status == http.StatusNotImplemented {
		found, err = false, nil
	}
	if err != nil {
		return false, err
	}
	if found && can.filter != nil && !can.filter.Supported && (s.o.UserFilter != "" || s.o.GroupFilter != "") {
		return false, authz.Validation("the service says that it does not filter: %s and %s cannot be used with it", settingUserFilter, settingGroupFilter)
	}
	yes := func(b *bool) bool { return b != nil && *b }
	switch p := can.pagination; {
	case s.o.Paging == pagingCursor:
		return true, nil
	case s.o.Paging == pagingIndex, p == nil:
		return false, nil
	default:
		return yes(p.Cursor), nil
	}
}
