package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// child starts this test again as another process on the file.
func child(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count", "1")
	cmd.Env = append(os.Environ(), "AUTHZ_TEST_CHILD="+path)
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// inChild says that this process is the child, and of which file.
func inChild() (path string, yes bool) {
	path = os.Getenv("AUTHZ_TEST_CHILD")
	return path, path != ""
}

func numbered(id string) storage.Commit {
	c := storage.Commit{ID: id, At: 1, Events: []authz.Event{{Type: authz.EventAll}}, Audit: []authz.AuditEntry{{ID: id, At: 1}}}
	for i := range 20 {
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: id + "-" + strconv.Itoa(i), Subject: "user:" + id, Provenance: authz.AdminProvenance("root")}})
	}
	return c
}

// A child commits as fast as it can and tells what was answered. It is killed at
// some moment, and what it left is held against what it told.
func TestKilledProcessesLeaveWholeCommits(t *testing.T) {
	if path, yes := inChild(); yes {
		s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs")
		from, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := from.Seq; ; i++ {
			if _, err := s.Commit(context.Background(), numbered(fmt.Sprint("c", i))); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("applied %d\n", i)
		}
	}
	path := t.TempDir() + "/authz.db"
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs")
	for round := range 8 {
		cmd := child(t, path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := int64(-1)
		told := bufio.NewScanner(out)
		var kill *time.Timer
		for told.Scan() {
			if kill == nil { // its first commit: a busy machine may take long to get there
				kill = time.AfterFunc(time.Duration(rand.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
			if _, err := fmt.Sscanf(told.Text(), "applied %d", &last); err != nil {
				t.Fatal(told.Text())
			}
		}
		_ = cmd.Wait()
		if kill == nil {
			t.Fatal("the process ended before its first commit")
		}
		head, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if head.Seq < last+1 {
			t.Fatalf("round %d: commit %d was answered and the head is %s", round, last, head)
		}
		for i := max(0, head.Seq-1); i <= head.Seq; i++ { // the last ones, and the one that may have been under way
			whole(t, s, fmt.Sprint("c", i), i < head.Seq)
		}
	}
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.CountGrants(t.Context(), storage.GrantFilter{}); err != nil || n != 20*head.Seq {
		t.Errorf("%d grants of %s commits, %v", n, head, err)
	}
	t.Logf("%s commits by processes that were killed", head)
	result, err := s.Commit(t.Context(), numbered(fmt.Sprint("c", head.Seq-1)))
	if err != nil || !result.Replayed || result.UpTo != head {
		t.Errorf("sending the last one again answered %+v, %v", result, err)
	}
	if result, err := s.Commit(t.Context(), numbered(fmt.Sprint("c", head.Seq))); err != nil || result.Replayed {
		t.Errorf("sending the one after again answered %+v, %v", result, err)
	}
}

func whole(t *testing.T, s storage.Store, id string, want bool) {
	t.Helper()
	_, recorded, err := s.GetCommit(t.Context(), id)
	subject := "user:" + id
	n, countErr := s.CountGrants(t.Context(), storage.GrantFilter{Subject: &subject})
	if err != nil || countErr != nil || recorded != want || n != map[bool]int64{true: 20}[want] {
		t.Fatalf("commit %s: recorded %v, %d grants, want %v; %v, %v", id, recorded, n, want, err, countErr)
	}
}

// B75 with real processes: each adds to a counter under one section.
func TestProcessesExcludeEachOther(t *testing.T) {
	const each = 60
	path, isChild := inChild()
	if !isChild {
		path = t.TempDir() + "/authz.db"
	}
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs")
	add := func(i int) {
		err := storage.RunExclusive(t.Context(), s, "counter", func(ctx context.Context) error {
			row, _, err := s.GetRecord(ctx, "c", "n")
			if err != nil {
				return err
			}
			n := 0
			if row.Version > 0 {
				if err := json.Unmarshal(row.Data, &n); err != nil {
					return err
				}
			}
			_, err = s.Commit(ctx, storage.Commit{ID: fmt.Sprint(os.Getpid(), "-", i), Fences: storage.Held(ctx, s), Changes: []storage.Change{
				storage.PutRecord{Expect: row.Version, Record: storage.Record{Collection: "c", ID: "n", Data: json.RawMessage(strconv.Itoa(n + 1))}}}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var others []*exec.Cmd
	if !isChild {
		for range 2 {
			cmd := child(t, path)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			others = append(others, cmd)
		}
	}
	for i := range each {
		add(i)
	}
	if isChild {
		return
	}
	for _, cmd := range others {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	row, _, err := s.GetRecord(t.Context(), "c", "n")
	if err != nil || string(row.Data) != strconv.Itoa(3*each) || row.Version != 3*each {
		t.Errorf("the counter is %s at version %d, %v", row.Data, row.Version, err)
	}
}

// A process that dies with a section is robbed when its lease ends; a watcher hears
// of another process's commits.
func TestADeadProcessIsRobbedAndAWatcherHearsOfOthers(t *testing.T) {
	const lease = 400 * time.Millisecond
	if path, yes := inChild(); yes {
		s := mustStore(t, mustOpen(t, sqlite.Options{Path: path, Lease: lease}), "docs")
		section, err := s.Acquire(t.Context(), "groups")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), numbered("c")); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("fence %d\n", section.Fence().Fence)
		select {} // until it is killed
	}
	path := t.TempDir() + "/authz.db"
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path, Lease: lease}), "docs")
	heads := make(chan int64, 10)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for head, err := range s.Watch(watching) {
			if err != nil {
				t.Error(err)
			}
			heads <- head
		}
	}()
	if head := <-heads; head != 0 {
		t.Errorf("the first head is %d", head)
	}
	cmd := child(t, path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var fence int64
	if _, err := fmt.Fscanf(out, "fence %d\n", &fence); err != nil {
		t.Fatal(err)
	}
	select {
	case head := <-heads:
		if head != 1 {
			t.Errorf("the next head is %d", head)
		}
	case <-time.After(20 * time.Second):
		t.Error("the watcher heard nothing")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	// The clock that the lease was written by may have run ten years ahead.
	execute(t, path, `UPDATE "AuthzLock" SET "expiresAt" = "expiresAt" + 315360000000 WHERE "key" = 'groups'`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := time.Now()
	section, err := s.Acquire(ctx, "groups")
	if err != nil {
		t.Fatal(err)
	}
	if got := section.Fence().Fence; got <= fence || time.Since(start) > 15*time.Second {
		t.Errorf("fence %d after %d, waited %v", got, fence, time.Since(start))
	}
	_, err = s.Commit(ctx, storage.Commit{ID: "old", Fences: []storage.Fence{{Key: "groups", Fence: fence}}})
	if storage.CodeOf(err) != storage.CodeStaleFence {
		t.Errorf("the fence of the dead process answered %v", err)
	}
}
