package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/authzhost/authz/contrib/redis"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// spoken is a hook that notes the commands as they are sent.
type spoken struct {
	mu       sync.Mutex
	commands []string
}

func (s *spoken) DialHook(next goredis.DialHook) goredis.DialHook { return next }
func (s *spoken) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}
func (s *spoken) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		s.mu.Lock()
		s.commands = append(s.commands, strings.ToUpper(strings.Trim(fmt.Sprint(cmd.Args()), "[]")))
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

func TestTheAdapterSpeaksGetSetPXAndDel(t *testing.T) {
	conn, _ := startServer(t)
	var heard spoken
	conn.AddHook(&heard)
	store, ctx := redis.New(conn), t.Context()

	if value, found, err := store.Get(ctx, "k"); value != "" || found || err != nil {
		t.Fatalf("an absent key: %q, %v, %v", value, found, err)
	}
	if err := store.Set(ctx, "k", "v", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	if value, found, err := store.Get(ctx, "k"); value != "v" || !found || err != nil {
		t.Fatalf("a kept key: %q, %v, %v", value, found, err)
	}
	if err := store.Delete(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(ctx, "k"); err != nil {
		t.Fatalf("an absent key cannot be deleted: %v", err)
	}
	if _, found, _ := store.Get(ctx, "k"); found {
		t.Fatal("the key is still there")
	}
	want := []string{"GET K", "SET K V PX 120000", "GET K", "DEL K", "DEL K", "GET K"}
	if diff := cmp.Diff(want, heard.commands); diff != "" {
		t.Errorf("commands (-want +got)\n%s", diff)
	}
}

func TestEntriesAgeOutToTheMillisecond(t *testing.T) {
	conn, _ := startServer(t)
	store, ctx := redis.New(conn), t.Context()
	const ttl = 60*time.Second + 500*time.Millisecond
	start := time.Now()
	if err := store.Set(ctx, "k", "v", ttl); err != nil {
		t.Fatal(err)
	}
	if left := conn.PTTL(ctx, "k").Val(); left > ttl || left < ttl-time.Since(start)-2*time.Millisecond {
		t.Errorf("lives for another %v", left)
	}
	if err := store.Set(ctx, "short", "v", 0); err != nil {
		t.Fatalf("a TTL below a millisecond: %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, found, err := store.Get(ctx, "short"); err != nil {
			t.Fatal(err)
		} else if !found {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not age out")
		}
	}
}

func TestAnEmptyValueAndBinaryKeysComeBackAsTheyWere(t *testing.T) {
	conn, _ := startServer(t)
	store, ctx := redis.New(conn), t.Context()
	for _, pair := range [][2]string{{"empty", ""}, {"a b\r\nc", "x\r\n\x00y"}, {"größe:*", strings.Repeat("v", 1<<20)}} {
		if err := store.Set(ctx, pair[0], pair[1], time.Minute); err != nil {
			t.Fatal(err)
		}
		if value, found, err := store.Get(ctx, pair[0]); value != pair[1] || !found || err != nil {
			t.Errorf("%q: %d bytes, %v, %v", pair[0], len(value), found, err)
		}
	}
}

func TestAStoppedServerIsAnErrorNeverAnAbsentKey(t *testing.T) {
	conn, stop := startServer(t)
	store, ctx := redis.New(conn), t.Context()
	stop()
	if _, found, err := store.Get(ctx, "k"); err == nil || found {
		t.Errorf("Get: %v, %v", found, err)
	}
	if err := store.Set(ctx, "k", "v", time.Minute); err == nil {
		t.Error("Set succeeds")
	}
	if err := store.Delete(ctx, "k"); err == nil {
		t.Error("Delete succeeds")
	}
}

// counted counts closure supplies.
type counted struct {
	*application.Application
	supplied int
}

func (c *counted) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	c.supplied++
	return c.Application.GetSubjectAccess(ctx, p)
}

func TestOneProcessWarmsAnotherAndAStoppedServerChangesNoAnswer(t *testing.T) {
	conn, stop := startServer(t)
	ctx := t.Context()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	rows, err := driver.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	app, err := application.New(ctx, application.Options{Catalog: cat, Store: rows})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	if _, err := app.CreateGrant(ctx, provider.GrantInput{Subject: "user:ann", Pattern: "docs.files.read"}, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	attach := func() (*client.Client, *counted) {
		source := &counted{Application: app}
		c, err := client.New(client.Options{Provider: source, Catalog: cat, CacheStore: redis.New(conn)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c, source
	}
	ask := func(c *client.Client) {
		t.Helper()
		if ok, err := c.Can(ctx, authz.UserPrincipal("ann"), "docs.files.read", ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	first, _ := attach()
	ask(first)
	for deadline := time.Now().Add(30 * time.Second); conn.DBSize(ctx).Val() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the entry never arrived")
		}
	}
	second, source := attach()
	ask(second)
	if source.supplied != 0 {
		t.Error("the second client fetched what the first had shared")
	}
	stop()
	third, source := attach()
	ask(third)
	if source.supplied != 1 {
		t.Errorf("without the server the provider was asked %d times", source.supplied)
	}
}
