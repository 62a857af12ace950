package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/sdk/storage"
)

func TestVersionsTombstonesAndRevival(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	docs := []string{"docs"}
	one, two := document(t, docs, "docs.a.read", "docs.a.write"), document(t, docs, "docs.a.read", "docs.b.read")
	three := document(t, docs, "docs.a.write", "docs.b.read", "docs.c.read")

	first := w.published("docs", one)
	at1 := w.Clock.Load()
	if diff := cmp.Diff(registry.Result{Namespace: "docs", Version: 1, AddedKeys: []string{"docs.a.read", "docs.a.write"},
		TombstonedKeys: []string{}, RevivedKeys: []string{}, PublishedAt: at1}, first); diff != "" {
		t.Error(diff)
	}
	w.Clock.Add(1000)
	same := w.published("docs", append([]byte(" \n"), one...))
	if diff := cmp.Diff(registry.Result{Namespace: "docs", Version: 1, Unchanged: true, AddedKeys: []string{}, TombstonedKeys: []string{},
		RevivedKeys: []string{}, PublishedAt: at1}, same); diff != "" {
		t.Error(diff)
	}
	at2 := w.Clock.Load()
	if diff := cmp.Diff(registry.Result{Namespace: "docs", Version: 2, AddedKeys: []string{"docs.b.read"},
		TombstonedKeys: []string{"docs.a.write"}, RevivedKeys: []string{}, PublishedAt: at2}, w.published("docs", two)); diff != "" {
		t.Error(diff)
	}
	got, err := w.Get(t.Context(), "acme", "docs")
	w.Must(err)
	if diff := cmp.Diff([]registry.Tombstone{{Key: "docs.a.write", LastVersion: 1, TombstonedVersion: 2, TombstonedAt: at2}}, got.Tombstones); diff != "" {
		t.Error(diff)
	}
	w.Clock.Add(1000)
	at3 := w.Clock.Load()
	if diff := cmp.Diff(registry.Result{Namespace: "docs", Version: 3, AddedKeys: []string{"docs.c.read"}, TombstonedKeys: []string{"docs.a.read"},
		RevivedKeys: []string{"docs.a.write"}, PublishedAt: at3}, w.published("docs", three)); diff != "" {
		t.Error(diff)
	}
	got, err = w.Get(t.Context(), "acme", "docs")
	w.Must(err)
	if diff := cmp.Diff(registry.Namespace{Namespace: "docs", Application: to("docs"), Versions: []registry.Version{
		{Version: 1, PublishedAt: at1, Publisher: "publisher:docs", AddedKeys: []string{"docs.a.read", "docs.a.write"}, TombstonedKeys: []string{}},
		{Version: 2, PublishedAt: at2, Publisher: "publisher:docs", AddedKeys: []string{"docs.b.read"}, TombstonedKeys: []string{"docs.a.write"}},
		{Version: 3, PublishedAt: at3, Publisher: "publisher:docs", AddedKeys: []string{"docs.a.write", "docs.c.read"}, TombstonedKeys: []string{"docs.a.read"}},
	}, Tombstones: []registry.Tombstone{{Key: "docs.a.read", LastVersion: 2, TombstonedVersion: 3, TombstonedAt: at3}}}, got); diff != "" {
		t.Error(diff)
	}
	list, err := w.List(t.Context(), "acme")
	w.Must(err)
	if diff := cmp.Diff([]registry.Summary{{Namespace: "docs", Application: to("docs"), Version: to(int64(3)), PublishedAt: &at3, Keys: 3, Tombstones: 1}}, list); diff != "" {
		t.Error(diff)
	}
	if d, err := w.Meters.Read(t.Context(), "acme", billing.CatalogPublishes); err != nil || d.Value != 3 {
		t.Errorf("%d publishes were metered, %v", d.Value, err)
	}

	f := faultOf(func() error { _, err := w.key("docs", one); return err }())
	if f.Name != "RegistryError" || f.Code != "out_of_order" || f.Fields["currentVersion"] != int64(3) || f.Fields["matchesVersion"] != int64(1) {
		t.Errorf("a rollback: %+v", f)
	}
	restored, err := w.PublishNamespace(t.Context(), "publisher:docs", "acme", "docs", registry.Input{Document: one, Expected: to(int64(3))})
	if err != nil || restored.Version != 4 {
		t.Errorf("a rollback that names the head: %+v, %v", restored, err)
	}
	_, err = w.PublishNamespace(t.Context(), "publisher:docs", "acme", "docs", registry.Input{Document: two, Expected: to(int64(3))})
	if f := faultOf(err); f.Code != "version_conflict" || f.Fields["expectedVersion"] != int64(3) || f.Fields["currentVersion"] != int64(4) {
		t.Errorf("another version than expected: %+v", f)
	}
	for v, want := range map[int64][]byte{1: one, 2: two, 3: three, 4: one} {
		got, err := w.Document(t.Context(), "acme", "docs", &v)
		if err != nil || !bytes.Equal(got.Raw, want) || got.Version != v {
			t.Errorf("version %d: %v, equal bytes: %v", v, err, bytes.Equal(got.Raw, want))
		}
	}
	for _, v := range []int64{-1, 0, 5} {
		if _, err := w.Document(t.Context(), "acme", "docs", &v); faultOf(err).Code != "version_not_found" {
			t.Errorf("version %d: %v", v, err)
		}
	}
	for _, org := range []string{"other", "nowhere"} {
		if _, err := w.Document(t.Context(), org, "docs", nil); faultOf(err).Code != "namespace_not_found" {
			t.Errorf("in the org %s: %v", org, err)
		}
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs", "drafts")
	shape := func(members string) []byte {
		return []byte(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"groups":[],"scopeTypes":[],"navigation":[],` + members + `}`)
	}
	leaf := func(keys ...string) string {
		var list []string
		for _, key := range keys {
			list = append(list, fmt.Sprintf(`{"key":%q}`, key))
		}
		return `"leaves":[` + strings.Join(list, ",") + `]`
	}
	for name, c := range map[string]struct {
		document string
		code     string
	}{
		"no object":               {`[]`, "malformed_document"},
		"null":                    {`null`, "malformed_document"},
		"no JSON":                 {`{`, "malformed_document"},
		"a later format":          {`{"formatVersion":2}`, "unsupported_format"},
		"no format":               {`{"namespace":"docs"}`, "unsupported_format"},
		"no leaves":               {string(shape(`"x":1`)), "malformed_document"},
		"leaves that are no list": {string(shape(`"leaves":{}`)), "malformed_document"},
		"a wildcard":              {string(shape(leaf("docs.a.*"))), "malformed_document"},
		"a key twice":             {string(shape(leaf("docs.a.b", "docs.a.b"))), "malformed_document"},
		"a key that is a group":   {string(shape(leaf("docs.a", "docs.a.b"))), "malformed_document"},
		"a key from outside":      {string(shape(leaf("mail.a.b"))), "malformed_document"},
		"cyclic scope types": {`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"navigation":[],
			"scopeTypes":[{"type":"docs.a","parent":"docs.b"},{"type":"docs.b","parent":"docs.a"}]}`, "malformed_document"},
		"cloud":               {strings.ReplaceAll(string(shape(leaf("docs.a.b"))), "docs", "cloud"), "namespace_reserved"},
		"authz_internal":      {strings.Replace(string(shape(leaf("docs.a.b"))), `["docs"]`, `["docs","authz_internal"]`, 1), "namespace_reserved"},
		"another namespace":   {string(document(t, []string{"mail"}, "mail.a.b")), "namespace_not_owned"},
		"more than the key's": {string(document(t, []string{"docs", "drafts"}, "docs.a.b")), "namespace_not_owned"},
	} {
		_, err := w.key("docs", []byte(c.document))
		f := faultOf(err)
		if f.Name != "RegistryError" || f.Code != c.code {
			t.Errorf("%s: %s %s (%v)", name, f.Name, f.Code, err)
		}
		if _, listed := f.Fields["issues"]; listed != (c.code == "malformed_document") {
			t.Errorf("%s: issues are listed: %v", name, listed)
		}
	}
	if _, err := w.PublishApplication(t.Context(), "u_1", "acme", "docs", registry.Input{Document: document(t, []string{"docs", "mail"})}); faultOf(err).Code != "namespace_not_owned" {
		t.Errorf("from an application without the namespace: %v", err)
	}
	twice := bytes.Replace(document(t, []string{"docs"}, "docs.a.b"), []byte(`["docs"`), []byte(`["docs","docs"`), 1)
	if _, err := w.PublishApplication(t.Context(), "u_1", "acme", "docs", registry.Input{Document: twice}); faultOf(err).Code != "malformed_document" {
		t.Errorf("a namespace twice: %v", err)
	}
	if _, err := w.PublishApplication(t.Context(), "u_1", "acme", "nope", registry.Input{Document: document(t, []string{"docs"})}); faultOf(err).Code != "application_not_found" {
		t.Errorf("from no application: %v", err)
	}
	if _, err := w.key("mail", document(t, []string{"mail"}, "mail.a.b")); faultOf(err).Code != "namespace_unregistered" {
		t.Errorf("of a namespace nobody has: %v", err)
	}
	got, err := w.Get(t.Context(), "acme", "docs")
	if err != nil || len(got.Versions) != 0 {
		t.Errorf("what was refused is there: %+v, %v", got, err)
	}
	if _, err := w.Document(t.Context(), "acme", "docs", nil); faultOf(err).Code != "version_not_found" {
		t.Errorf("the head of what was never published: %v", err)
	}
}

// The built-in leaves are accepted, whether their namespace is listed or not, and
// not registered.
func TestBuiltInLeavesAreNobodysToRegister(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	listed := document(t, []string{"docs"}, "docs.a.read")
	if !bytes.Contains(listed, []byte(`"authz_internal"`)) {
		t.Fatal("the document does not list the built-in namespace")
	}
	for _, raw := range [][]byte{listed, bytes.Replace(listed, []byte(`["docs","authz_internal"]`), []byte(`["docs"]`), 1)} {
		r, err := w.key("docs", raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range r.AddedKeys {
			if key != "docs.a.read" {
				t.Errorf("%s was registered", key)
			}
		}
	}
	if _, err := w.Get(t.Context(), "acme", "authz_internal"); faultOf(err).Code != "namespace_not_found" {
		t.Errorf("the built-in namespace: %v", err)
	}
}

func TestEveryNamespaceOfADocumentGetsTheVersion(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs", "drafts")
	both := []string{"drafts", "docs"}
	w.published("docs", document(t, []string{"docs"}, "docs.a.read"))
	r, err := w.PublishApplication(t.Context(), "u_1", "acme", "docs", registry.Input{Document: document(t, both, "docs.b.read", "drafts.a.read")})
	w.Must(err)
	if diff := cmp.Diff(registry.Result{Namespace: "drafts", Version: 1, AddedKeys: []string{"docs.b.read", "drafts.a.read"},
		TombstonedKeys: []string{"docs.a.read"}, RevivedKeys: []string{}, PublishedAt: w.Clock.Load()}, r); diff != "" {
		t.Error(diff)
	}
	list, err := w.List(t.Context(), "acme")
	w.Must(err)
	if len(list) != 2 || *list[0].Version != 2 || *list[1].Version != 1 || list[0].Tombstones != 1 {
		t.Errorf("%+v", list)
	}
	if d, _ := w.Meters.Read(t.Context(), "acme", billing.CatalogPublishes); d.Value != 3 {
		t.Errorf("%d versions were metered", d.Value)
	}
}

// 8 MiB are the largest document; what its keys change is more than the record of
// a version holds.
func TestTheLargestDocumentIsKeptByteForByte(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	var keys []string
	for i := range 2_000 {
		keys = append(keys, fmt.Sprintf("docs.group%d.read_%s", i, strings.Repeat("x", 150)))
	}
	var members map[string]json.RawMessage
	w.Must(json.Unmarshal(document(t, []string{"docs"}, keys...), &members))
	odd := `"note":"<&> 1.0 \u00e9 é \ud83d\ude00 1e2",  "n": 1.50, "pad":"`
	raw := []byte(`{` + odd)
	rest, err := json.Marshal(members)
	w.Must(err)
	raw = append(raw, bytes.Repeat([]byte("p"), max(0, 8<<20-len(raw)-len(rest)-2))...)
	raw = append(append(raw, `",`...), rest[1:]...)
	r := w.published("docs", raw)
	if len(r.AddedKeys) != len(keys) || len(raw) < 8<<20-10 {
		t.Errorf("%d keys in %d bytes", len(r.AddedKeys), len(raw))
	}
	got, err := w.Document(t.Context(), "acme", "docs", nil)
	if err != nil || !bytes.Equal(got.Raw, raw) {
		t.Errorf("%d bytes came back as %d, %v", len(raw), len(got.Raw), err)
	}
	ns, err := w.Get(t.Context(), "acme", "docs")
	if err != nil || len(ns.Versions[0].AddedKeys) != len(keys) {
		t.Errorf("the version: %v", err)
	}
	if r := w.published("docs", document(t, []string{"docs"}, keys[0])); len(r.TombstonedKeys) != len(keys)-1 {
		t.Errorf("%d keys were tombstoned", len(r.TombstonedKeys))
	}
}

// counted counts the versions that are read.
type counted struct {
	storage.Store
	versions atomic.Int64
}

func (c *counted) count(collection string) {
	if collection == "catalog_versions" {
		c.versions.Add(1)
	}
}

func (c *counted) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	c.count(collection)
	return c.Store.GetRecord(ctx, collection, id)
}

func (c *counted) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return func(yield func(storage.Record, error) bool) {
		for record, err := range c.Store.ListRecords(ctx, collection, f, p) {
			c.count(collection)
			if !yield(record, err) {
				return
			}
		}
	}
}

// forget leaves a version as one of before standings were kept.
func (w *world) forget(namespace string, version int64) {
	w.T.Helper()
	versions := account.Collection[map[string]any]{Name: "catalog_versions", Key: func(v map[string]any) string { return namespace + "@" + v["sum"].(string) }}
	row, found, err := versions.Get(w.T.Context(), w.Store, "acme", fmt.Sprintf("%s/%012d", namespace, version))
	w.Must(err)
	if _, kept := row.Value["standing"]; !found || !kept {
		w.T.Fatalf("version %d has no standing: %v", version, row.Value)
	}
	delete(row.Value, "standing")
	tx := w.Store.Begin(w.T.Context())
	versions.Put(tx, "acme", row.ID, row.Value, row.Version)
	w.Must(tx.Commit())
}

// What a publish changes is what all versions together say, and it reads one of them.
func TestAPublishReadsTheVersionBeforeAndNoOther(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	records, err := w.Driver.Open(t.Context(), account.Partition)
	w.Must(err)
	c := &counted{Store: records}
	counting := registry.New(registry.Options{Store: account.New(c, w.Clock.Load), Applications: w.Entries, Meters: w.Meters})
	random := rand.New(rand.NewPCG(1, 2))
	ever, head := map[string]bool{}, map[string]bool{}
	for n := int64(1); n <= 40; n++ {
		keys := []string{fmt.Sprintf("docs.new.read%d", n)} // no document is an earlier one
		for i := range 8 {
			if random.IntN(2) == 0 {
				keys = append(keys, fmt.Sprintf("docs.a.read%d", i))
			}
		}
		forgotten := n > 1 && n%7 == 0
		if forgotten {
			w.forget("docs", n-1)
		}
		c.versions.Store(0)
		r, err := counting.PublishNamespace(t.Context(), "ci", "acme", "docs", registry.Input{Document: document(t, []string{"docs"}, keys...)})
		w.Must(err)
		if read := c.versions.Load(); read > 1 && !forgotten {
			t.Errorf("publish %d read %d versions", n, read)
		}
		want := registry.Result{Namespace: "docs", Version: n, PublishedAt: w.Clock.Load(), AddedKeys: []string{}, TombstonedKeys: []string{}, RevivedKeys: []string{}}
		slices.Sort(keys)
		for _, key := range keys {
			switch {
			case !ever[key]:
				want.AddedKeys = append(want.AddedKeys, key)
			case !head[key]:
				want.RevivedKeys = append(want.RevivedKeys, key)
			}
			ever[key] = true
		}
		for key := range head {
			if !slices.Contains(keys, key) {
				want.TombstonedKeys = append(want.TombstonedKeys, key)
			}
		}
		slices.Sort(want.TombstonedKeys)
		if diff := cmp.Diff(want, r); diff != "" {
			t.Fatal(diff)
		}
		head = map[string]bool{}
		for _, key := range keys {
			head[key] = true
		}
	}
	list, err := w.List(t.Context(), "acme")
	w.Must(err)
	got, err := w.Get(t.Context(), "acme", "docs")
	w.Must(err)
	if list[0].Keys != len(head) || list[0].Tombstones != len(ever)-len(head) || len(got.Tombstones) != list[0].Tombstones {
		t.Errorf("%+v, %d tombstones of %d keys, %d in the head", list[0], len(got.Tombstones), len(ever), len(head))
	}
}

func TestPublishesAtOnceTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs", "drafts", "mail")
	var all sync.WaitGroup
	for i := range 20 {
		namespaces := [][]string{{"docs", "drafts"}, {"mail", "docs"}, {"drafts", "mail"}, {"docs"}}[i%4]
		all.Go(func() {
			_, err := w.PublishApplication(t.Context(), "u_1", "acme", "docs", registry.Input{Document: document(t, namespaces, fmt.Sprintf("%s.k%d.read", namespaces[0], i))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	total := int64(0)
	for _, ns := range []string{"docs", "drafts", "mail"} {
		got, err := w.Get(t.Context(), "acme", ns)
		w.Must(err)
		for i, v := range got.Versions {
			if v.Version != int64(i+1) {
				t.Errorf("%s: version %d is in place %d", ns, v.Version, i+1)
			}
		}
		total += int64(len(got.Versions))
	}
	if d, _ := w.Meters.Read(t.Context(), "acme", billing.CatalogPublishes); total != 35 || d.Value != total {
		t.Errorf("%d versions, %d metered", total, d.Value)
	}
}

func TestOverTheCapANamespaceHasOnePublishAMinute(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	w.Register("mail", "mail")
	w.published("docs", document(t, []string{"docs"}, "docs.a.read"))
	_, err := w.Meters.SetCap(t.Context(), "u_1", "acme", billing.CatalogPublishes, to(int64(1)))
	w.Must(err)
	w.Clock.Add(20_000)
	_, err = w.key("docs", document(t, []string{"docs"}, "docs.b.read"))
	if f := faultOf(err); f.Code != "rate_limited" || f.RetryAfterMs != 40_000 {
		t.Errorf("within the minute: %+v", f)
	}
	if r := w.published("docs", document(t, []string{"docs"}, "docs.a.read")); !r.Unchanged {
		t.Error("what changes nothing is held back")
	}
	w.published("mail", document(t, []string{"mail"}, "mail.a.read"))
	w.Clock.Add(40_000)
	w.published("docs", document(t, []string{"docs"}, "docs.b.read"))
}

func TestAPublishThatIsRepeatedAnswersAsTheFirstTime(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	id := uuid.New()
	again := func() registry.Result {
		ctx := account.WithWork(t.Context(), &account.Work{ID: id, At: 1700000000000})
		r, err := w.PublishNamespace(ctx, "publisher:docs", "acme", "docs", registry.Input{Document: document(t, []string{"docs"}, "docs.a.read"), Expected: to(int64(0))})
		w.Must(err)
		return r
	}
	if diff := cmp.Diff(again(), again()); diff != "" {
		t.Error(diff)
	}
}

func TestANamespaceOutlivesItsApplication(t *testing.T) {
	w := newWorld(t)
	w.Register("docs", "docs")
	w.published("docs", document(t, []string{"docs"}, "docs.a.read"))
	w.Must(w.Entries.Delete(t.Context(), "u_1", "acme", "docs", ""))
	if got, err := w.Get(t.Context(), "acme", "docs"); err != nil || got.Application != nil || len(got.Versions) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.key("docs", document(t, []string{"docs"}, "docs.b.read")); faultOf(err).Code != "namespace_unregistered" {
		t.Errorf("a publish: %v", err)
	}
	w.Register("papers", "docs")
	if r := w.published("docs", document(t, []string{"docs"}, "docs.b.read")); r.Version != 2 || len(r.TombstonedKeys) != 1 {
		t.Errorf("the next owner goes on: %+v", r)
	}
}

// A namespace may change hands while a publish is on its way.
func TestWhoPublishesIsJudgedByTheCommit(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	docs := document(t, []string{"docs"}, "docs.a.read")
	w.Register("docs", "docs")
	handed := false
	_, err := w.PublishApplication(ctx, "u_1", "acme", "docs", registry.Input{Document: docs, Still: func(context.Context, *account.Tx) error {
		if !handed {
			handed = true
			w.Must(w.Entries.Delete(ctx, "u_1", "acme", "docs", ""))
			w.Register("papers", "docs")
		}
		return nil
	}})
	if faultOf(err).Code != "namespace_not_owned" {
		t.Errorf("an application publishes for the next owner: %v", err)
	}
	w.Register("mail", "mail")
	_, err = w.PublishNamespace(ctx, "publisher:mail", "acme", "mail", registry.Input{Document: document(t, []string{"mail"}, "mail.a.read"),
		Still: func(context.Context, *account.Tx) error {
			if _, found, _ := w.Entries.OwnerID(ctx, "acme", "mail"); found {
				w.Must(w.Entries.Delete(ctx, "u_1", "acme", "mail", ""))
			}
			return nil
		}})
	if faultOf(err).Code != "namespace_unregistered" {
		t.Errorf("a key publishes for nobody: %v", err)
	}
	list, err := w.List(ctx, "acme")
	w.Must(err)
	if diff := cmp.Diff([]registry.Summary{{Namespace: "docs", Application: to("papers")}}, list); diff != "" {
		t.Error(diff)
	}
}
