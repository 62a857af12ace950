package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/host/anchor"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

// TestHostsAnchorOneLogInOneFile: what either wrote is in the counts of both, and their
// lines do not tear each other.
func TestHostsAnchorOneLogInOneFile(t *testing.T) {
	postgrestest.Require(t)
	buildPlugin(t, "postgres")
	dsn, files := postgrestest.Database(t), hostedFiles(t)
	file := filepath.Join(files, "anchors")
	var clock testClock
	var hosts []*hostedHost
	for range 2 {
		cfg := overPostgres(configure(t, "    audit: {hash_chain: true}\naudit: {anchor: {file: "+file+", interval: 1s}}\n"+hostedLines(files, bootUser)), dsn)
		hosts = append(hosts, openHosted(t, cfg, &clock))
	}
	var writing sync.WaitGroup
	for i := range 40 {
		writing.Go(func() {
			grant := object{"input": object{"subject": "everyone", "pattern": "docs.files.read", "provenance": root}}
			if err := insist(func() error { return caller(hosts[i%2].Host).Call(t.Context(), "createGrant", grant, nil) }); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	for _, h := range hosts {
		closeHost(t, h.Host)
		if strings.Contains(h.log.String(), "was altered") || strings.Contains(h.log.String(), "not anchored") {
			t.Error(h.log.String())
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	anchors, bad, err := anchor.Read(f)
	if err != nil || len(bad) > 0 {
		t.Fatalf("lines %v, %v", bad, err)
	}
	heads, last := map[int64]string{}, int64(0)
	for _, a := range anchors {
		if a.Log != "application/docs" {
			continue
		}
		if before, ok := heads[a.Count]; ok && before != a.Hash {
			t.Errorf("entry %d is anchored as %s and as %s", a.Count, before, a.Hash)
		}
		heads[a.Count], last = a.Hash, max(last, a.Count)
	}
	if last != 40 {
		t.Errorf("anchored up to entry %d of 40: %v", last, anchors)
	}
}
