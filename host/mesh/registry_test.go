package mesh_test

import (
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/google/go-cmp/cmp"
)

func three() mesh.Put {
	return mesh.Put{
		Members: []authz.MeshMember{member("docs", "docs"), member("billing", "billing", "invoicing"), member("hq")},
		Edges:   []authz.MeshEdge{edge("docs", "billing", authz.MeshRead), edge("hq", "docs", authz.MeshWrite)},
	}
}

func TestARegistryIsReplacedWholeAndAudited(t *testing.T) {
	w := newWorld(t)
	c := w.connect("hq")
	if m, err := c.Registry(t.Context()); m != nil || err != nil {
		t.Fatalf("%v %v", m, err)
	}
	_, err := c.Members(t.Context())
	refused(t, err, authz.MeshNoRegistry)

	none := int64(0)
	in := three()
	in.Expect = &none
	first := w.put(c, in)
	if first.Version != 1 || first.UpdatedBy != "m.reyes" || first.Org != nil {
		t.Fatalf("%+v", first)
	}
	_, err = w.connect("docs").PutRegistry(t.Context(), in, admin)
	if e := refused(t, err, authz.MeshRegistryConflict); *e.Expected != 0 || *e.Current != 1 {
		t.Errorf("%+v", e)
	}
	next := three()
	next.Members, next.Edges = next.Members[:2], next.Edges[:1]
	second := w.put(c, next)
	read, err := w.connect("billing").Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, *read); diff != "" {
		t.Error(diff)
	}
	entries := log(t, w.store(mesh.Partition))
	if got := actions(entries); got != "m.reyes mesh.registry_put registry\nm.reyes mesh.registry_put registry" {
		t.Error(got)
	}
	want := `{"version":2,"membersAdded":[],"membersRemoved":["hq"],"edgesAdded":[],"edgesRemoved":["hq -> docs (write)"],"org":null}`
	if got := string(entries[1].Detail); got != want {
		t.Error(got)
	}
	if entries[0].Hash == "" || entries[1].PrevHash != entries[0].Hash {
		t.Error("the registry's log is not chained")
	}
	if len(log(t, w.store("hq"))) != 0 {
		t.Error("a change of the registry is in a member's log")
	}
}

func TestAnInvalidRegistryIsToldWholeAndNotStored(t *testing.T) {
	w := newWorld(t)
	c := w.connect("hq")
	org := "nobody"
	_, err := c.PutRegistry(t.Context(), mesh.Put{
		Members: []authz.MeshMember{member("docs", "docs"), member("docs", "other"), member("__service"), member(""), member("a b"),
			member("billing", "docs", "cloud", "authz_internal", "no-namespace")},
		Edges: []authz.MeshEdge{edge("docs", "docs", authz.MeshRead), edge("docs", "biling", authz.MeshRead), edge("docs", "billing", "both"),
			edge("docs", "billing", authz.MeshRead)},
		Org: &org,
	}, admin)
	var got []string
	for _, issue := range refused(t, err, authz.MeshRegistryInvalid).Issues {
		got = append(got, issue.Path+": "+issue.Message)
	}
	want := []string{
		`members[1].partition: "docs" is a member already`,
		`members[2].partition: "__service" is reserved: names that begin with __ belong to the product`,
		`members[3].partition: "" is the unpartitioned dataset, which nobody shares`,
		`members[4].partition: "a b" is no name of a partition: 1 to 63 of A-Z a-z 0-9 _ -`,
		`members[5].namespaces[0]: "docs" belongs to "docs" already`,
		`members[5].namespaces[1]: "cloud" belongs to the product`,
		`members[5].namespaces[2]: "authz_internal" belongs to the product`,
		`members[5].namespaces[3]: "no-namespace" is no namespace`,
		`edges[0]: an application needs no edge to itself`,
		`edges[1].to: "biling" is no member; did you mean "billing"?`,
		`edges[2].mode: must be "read" or "write", not "both"`,
		`edges[3]: "docs" reaches "billing" by another edge already`,
		`org.partition: "nobody" is no member`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m, err := c.Registry(t.Context()); m != nil || err != nil {
		t.Errorf("%v %v", m, err)
	}
}

func TestADesignationTakesAuthorityFromEveryOtherMemberAtOnce(t *testing.T) {
	w := newWorld(t)
	docs := w.application("docs", w.declare(docsCatalog))
	c := w.connect("hq")
	w.put(c, three())
	org, other := "hq", "docs"
	in := three()
	in.Org = &org
	m := w.put(c, in)
	if m.Org == nil || m.Org.Partition != "hq" || m.Org.Since == 0 {
		t.Fatalf("%+v", m.Org)
	}
	// docs was constructed as an org root, and no event has reached it.
	err := docs.SetUserActive(t.Context(), "ann", false, admin)
	if authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Errorf("a member writes as a root after the designation: %v", err)
	}
	if all := actions(log(t, w.store("docs"))); !strings.Contains(all, "mesh:hq/m.reyes org.authority_released mesh:2") {
		t.Error(all)
	}
	in.Org = &other
	_, err = c.PutRegistry(t.Context(), in, admin)
	refused(t, err, authz.MeshRegistryInvalid)
	in = three()
	in.Members = in.Members[:2]
	in.Edges = in.Edges[:1]
	_, err = c.PutRegistry(t.Context(), in, admin)
	refused(t, err, authz.MeshRegistryInvalid)
}

// A put that stood still at any call, and goes on after another one has designated a
// partition, takes no authority from that one.
func TestAPutThatStoodStillReleasesNothingThatIsDesignatedSince(t *testing.T) {
	for at := 1; ; at++ {
		d := memory.New(memory.Options{Lease: 60 * time.Millisecond})
		w := &world{T: t, driver: d, info: storage.DriverInfo{Name: "memory", CrossProcess: true}}
		docs := w.application("docs", w.declare(docsCatalog))
		w.put(w.connect("docs"), three())
		f := newFuse(at, stops)
		slow, err := mesh.Connect(mesh.Options{Partition: "hq", Driver: w.info, Open: f.opening(d)})
		if err != nil {
			t.Fatal(err)
		}
		first := make(chan error, 1)
		go func() {
			in := three()
			in.Org = new("hq")
			_, err := slow.PutRegistry(t.Context(), in, admin)
			first <- err
		}()
		select {
		case err := <-first: // it has no call more at which it could stand still
			if err != nil || f.burnt() || at < 4 {
				t.Fatalf("at call %d: %v", at, err)
			}
			_ = d.Close()
			return
		case <-f.stood:
		}
		in := three()
		in.Org = new("docs")
		_, err = w.connect("billing").PutRegistry(t.Context(), in, admin)
		released := err != nil // docs was released before: the first put is to be repeated
		close(f.goOn)
		late := <-first
		if late == nil {
			t.Errorf("at call %d: the other put: %v; the one that stood still went on to the end", at, err)
		}
		if released {
			again := three()
			again.Org = new("hq")
			w.put(w.connect("hq"), again)
		} else {
			if root, err := w.connect("docs").StoredOrgRoot(t.Context()); err != nil || !*root {
				t.Errorf("at call %d: docs is designated and no org root", at)
			}
			if err := docs.SetUserActive(t.Context(), "ann", true, admin); err != nil {
				t.Errorf("at call %d: %v", at, err)
			}
		}
		_ = slow.Close()
		_ = d.Close()
	}
}
