package plugin

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Roles of answers cross once a handle: the plugin gives each content of a role a
// revision, the host keeps what it received under it, and later answers name the
// revision alone. The plugin takes for known what it has sent, though the answer may have
// been lost on the way; a host that misses one asks again for whole roles. Drivers know
// nothing of it. Revisions of another handle, or of another process, are others.

// What the plugin takes for known, in roles and in bytes of their messages; what is
// beyond begins it anew. The host keeps twice as much, because answers of before may
// come in after that. A role that is larger by itself has no revision.
const (
	maxKnownRoles = 10_000
	maxKnownBytes = 16 << 20
)

var errForgotten = errors.New("the answer names roles that are not known here")

// sentRoles is the plugin's half.
type sentRoles struct {
	most int // roles

	mu    sync.Mutex
	last  uint64 // revision given
	from  uint64 // the lowest one that is taken for known
	bytes int
	rows  map[string]sentRole
}

// sentRole is a role as it was sent. Its texts are not the driver's, which may write to
// its own.
type sentRole struct {
	revision uint64
	row      *pluginv1.Role
}

// encode names the roles that were sent before, unless whole ones are asked for.
func (s *sentRoles) encode(roles []authz.Role, whole bool) (out []*pluginv1.AccessRole, from uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out = make([]*pluginv1.AccessRole, len(roles))
	for i, r := range roles {
		requestable, err := encodeJSON(r.Requestable)
		if err != nil {
			return nil, 0, err
		}
		was, ok := s.rows[r.ID]
		known := ok && was.row.GetName() == r.Name && was.row.GetDescription() == r.Description &&
			slices.Equal(was.row.GetPatterns(), r.Patterns) && bytes.Equal(was.row.RequestableJson, requestable)
		if !known {
			was = s.add(r, requestable)
		}
		out[i] = &pluginv1.AccessRole{Revision: was.revision}
		if whole || !known {
			out[i].Role = was.row
		}
	}
	return out, s.from, nil
}

func (s *sentRoles) add(r authz.Role, requestable []byte) sentRole {
	row := &pluginv1.Role{Id: strings.Clone(r.ID), Name: strings.Clone(r.Name), Description: strings.Clone(r.Description),
		Patterns: mapRows(r.Patterns, strings.Clone), RequestableJson: requestable}
	size := proto.Size(row)
	if size > maxKnownBytes {
		delete(s.rows, r.ID)
		return sentRole{row: row}
	}
	if s.bytes += size; s.rows == nil || len(s.rows) >= s.most || s.bytes > maxKnownBytes {
		s.rows, s.bytes, s.from = map[string]sentRole{}, size, s.last+1
	}
	s.last++
	sent := sentRole{s.last, row}
	s.rows[row.Id] = sent
	return sent
}

// knownRoles is the host's half. What it gives out is the caller's own.
type knownRoles struct {
	most int // roles

	mu    sync.Mutex
	from  uint64
	bytes int
	rows  map[uint64]*pluginv1.Role
}

func (k *knownRoles) decode(roles []*pluginv1.AccessRole, from uint64) ([]authz.Role, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if from > k.from {
		k.from = from
		maps.DeleteFunc(k.rows, func(revision uint64, _ *pluginv1.Role) bool { return revision < from })
	}
	return tryRows(roles, func(r *pluginv1.AccessRole) (authz.Role, error) {
		row := r.GetRole()
		if row == nil {
			if row = k.rows[r.GetRevision()]; row == nil {
				return authz.Role{}, errForgotten
			}
		} else if r.GetRevision() >= max(k.from, 1) {
			k.keep(r.GetRevision(), row)
		}
		role, err := decodeRole(row)
		role.Patterns = slices.Clone(role.Patterns)
		return role, err
	})
}

// keep may forget all the others: what is missing then is asked for.
func (k *knownRoles) keep(revision uint64, row *pluginv1.Role) {
	if k.rows[revision] != nil {
		return
	}
	size := proto.Size(row)
	if k.bytes += size; k.rows == nil || len(k.rows) >= k.most || k.bytes > 2*maxKnownBytes {
		k.rows, k.bytes = map[uint64]*pluginv1.Role{}, size
	}
	k.rows[revision] = row
}
