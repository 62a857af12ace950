package plugin

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

const (
	// maxEntry bounds one entry of a reading, which crosses in one message: 10,000
	// groups of a person under names of 300 bytes.
	maxEntry = 3 << 20

	// maxCursor bounds where an incremental reading goes on; runs store it.
	maxCursor = 64 << 10
)

// reading holds a sequence of entries to its order and its limits, on both sides.
// Refusals say what is wrong with which entry, and never what stands in it.
type reading struct {
	entries int // so far
	ended   bool
}

func (r *reading) refuse(format string, args ...any) error {
	return authz.Validation("directory reading: entry %d: %s", r.entries, fmt.Sprintf(format, args...))
}

// next judges the next entry; size is that on the wire.
func (r *reading) next(e directory.Entry, size int) error {
	r.entries++
	_, begin := e.(directory.Begin)
	switch {
	case r.ended:
		return r.refuse("it comes after the end")
	case begin && r.entries > 1:
		return r.refuse("a second begin")
	case !begin && r.entries == 1:
		return r.refuse("it comes before the begin")
	case size > maxEntry:
		return r.refuse("it has %d bytes, at most %d are allowed", size, maxEntry)
	}
	switch e := e.(type) {
	case directory.Begin:
		if e.Expected < 0 {
			return r.refuse("a negative number of entries is expected")
		}
	case directory.End:
		if len(e.Cursor) > maxCursor {
			return r.refuse("a cursor of %d bytes, at most %d are allowed", len(e.Cursor), maxCursor)
		}
		r.ended = true
	}
	return nil
}

// encode is the entry's message, if the entry may come next.
func (r *reading) encode(e directory.Entry) (*pluginv1.ImportEntry, error) {
	m := encodeEntry(e)
	if m == nil {
		r.entries++
		return nil, r.refuse("%T is no entry", e)
	}
	b, err := proto.Marshal(m) // which refuses only text that is not UTF-8
	if err := r.next(e, len(b)); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, r.refuse("text must be valid UTF-8")
	}
	return m, nil
}

// decode is the entry of a message, if it may come next.
func (r *reading) decode(m *pluginv1.ImportEntry) (directory.Entry, error) {
	e := decodeEntry(m)
	if e == nil {
		r.entries++
		return nil, r.refuse("it is of an unknown kind")
	}
	return e, r.next(e, proto.Size(m))
}

func encodeEntry(e directory.Entry) *pluginv1.ImportEntry {
	switch e := e.(type) {
	case directory.Begin:
		b := &pluginv1.ImportBegin{Incremental: e.Incremental, Expected: int64(e.Expected)}
		b.Datasets = namesOf(e.Datasets)
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Begin{Begin: b}}
	case directory.Group:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Group{Group: &pluginv1.ImportGroup{
			Id: e.ID, Name: e.Name, Description: e.Description, Parents: e.Parents}}}
	case directory.User:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_User{User: &pluginv1.ImportUser{UserId: e.UserID, Active: e.Active}}}
	case directory.Membership:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Membership{Membership: &pluginv1.ImportMembership{
			UserId: e.UserID, Groups: e.Groups}}}
	case directory.ReportingEdge:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_ReportingEdge{ReportingEdge: &pluginv1.ImportReportingEdge{
			UserId: e.UserID, ManagerId: e.ManagerID}}}
	case directory.OrgMembership:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_OrgMembership{OrgMembership: &pluginv1.ImportOrgMembership{
			UserId: e.UserID, Orgs: e.Orgs}}}
	case directory.Warning:
		// For people: no reason to refuse a reading.
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Warning{Warning: &pluginv1.ImportWarning{Message: strings.ToValidUTF8(e.Message, "\uFFFD")}}}
	case directory.End:
		return &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_End{End: &pluginv1.ImportEnd{Cursor: e.Cursor}}}
	}
	return nil
}

// decodeEntry answers nil for an entry of a kind that this side does not know.
func decodeEntry(m *pluginv1.ImportEntry) directory.Entry {
	switch of := m.GetOf().(type) {
	case *pluginv1.ImportEntry_Begin:
		b := of.Begin
		return directory.Begin{Incremental: b.GetIncremental(), Expected: int(b.GetExpected()),
			Datasets: named[directory.ImporterCapability](b.GetDatasets())}
	case *pluginv1.ImportEntry_Group:
		g := of.Group
		return directory.Group{ID: g.GetId(), Name: g.GetName(), Description: g.GetDescription(), Parents: g.GetParents()}
	case *pluginv1.ImportEntry_User:
		u := directory.User{UserID: of.User.GetUserId()}
		if of.User != nil {
			u.Active = of.User.Active
		}
		return u
	case *pluginv1.ImportEntry_Membership:
		return directory.Membership{UserID: of.Membership.GetUserId(), Groups: of.Membership.GetGroups()}
	case *pluginv1.ImportEntry_ReportingEdge:
		return directory.ReportingEdge{UserID: of.ReportingEdge.GetUserId(), ManagerID: of.ReportingEdge.GetManagerId()}
	case *pluginv1.ImportEntry_OrgMembership:
		return directory.OrgMembership{UserID: of.OrgMembership.GetUserId(), Orgs: of.OrgMembership.GetOrgs()}
	case *pluginv1.ImportEntry_Warning:
		return directory.Warning{Message: of.Warning.GetMessage()}
	case *pluginv1.ImportEntry_End:
		return directory.End{Cursor: of.End.GetCursor()}
	}
	return nil
}
