package listen

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/otheruser"
)

// socketDir is a directory with a path short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "authz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestTheSocketIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(socketDir(t), "run", "authz.sock")
	l, err := Local(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, error %v; want %v", p, info.Mode().Perm(), err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket was left behind: %v", err)
	}
}

func TestALiveSocketIsNotTaken(t *testing.T) {
	path := filepath.Join(socketDir(t), "authz.sock")
	live, err := Local(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := Local(path, false); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("a second host got: %v", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the first host lost its socket: %v", err)
	}
	conn.Close()
}

func TestASocketThatAnswersIsNotTakenEvenWithoutItsLock(t *testing.T) {
	path := filepath.Join(socketDir(t), "authz.sock")
	live, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := Local(path, false); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("taken from whoever answers there: %v", err)
	}
}

func TestTheSocketOfADeadHostIsReplaced(t *testing.T) {
	path := filepath.Join(socketDir(t), "authz.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := Local(path, false)
	if err != nil {
		t.Fatalf("the stale socket stood in the way: %v", err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestWhatIsNoSocketIsNeverRemoved(t *testing.T) {
	path := filepath.Join(socketDir(t), "authz.sock")
	writeFile(t, path, []byte("precious"))
	if _, err := Local(path, false); err == nil {
		t.Error("listening over a file")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "precious" {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestADirectoryThatOthersCanEnterIsRefused(t *testing.T) {
	dir := filepath.Join(socketDir(t), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Local(filepath.Join(dir, "authz.sock"), false); err == nil || !strings.Contains(err.Error(), "0700") {
		t.Errorf("directory of mode 0755: %v", err)
	}
}

func TestAPathTooLongForTheSystemIsNamed(t *testing.T) {
	path := filepath.Join(socketDir(t), strings.Repeat("x", maxSocketPath), "authz.sock")
	if _, err := Local(path, false); err == nil || !strings.Contains(err.Error(), "run_dir") {
		t.Errorf("path of %d bytes: %v", len(path), err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Error("a directory was made for a socket that cannot be")
	}
}

func TestThePeerOfAUnixSocketIsKnownByLogin(t *testing.T) {
	logins := make(chan string, 2)
	server, err := NewServer(ServerOptions{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		login, ok := PeerLogin(r.Context())
		if !ok {
			login = "nobody"
		}
		logins <- login
	})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Local(filepath.Join(socketDir(t), "authz.sock"), false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(server, l) }()
	get := func(network, addr string) {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("http://host/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	get("unix", l.Addr().String())
	want, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if got := <-logins; got != want.Username {
		t.Errorf("peer %q, want %q", got, want.Username)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}

	tcp, err := NewServer(ServerOptions{Handler: server.Handler})
	if err != nil {
		t.Fatal(err)
	}
	get("tcp", serveHere(t, tcp))
	if got := <-logins; got != "nobody" {
		t.Errorf("over TCP the peer is %q", got)
	}
}

// TestASocketDirectoryOfAnotherUsersIsRefused: nothing is made or removed where it
// leads.
func TestASocketDirectoryOfAnotherUsersIsRefused(t *testing.T) {
	otheruser.Need(t)
	for name, prepare := range map[string]string{
		"a directory":         "mkdir -m 700 $1/run",
		"a link":              "ln -s $2 $1/run",
		"a directory above":   "mkdir -m 755 $1/run; mkdir $1/run/deep",
		"a link above, lying": "mkdir -m 755 $1/run; ln -s $2 $1/run/deep",
	} {
		t.Run(name, func(t *testing.T) {
			tmp, mine := otheruser.Sticky(t), otheruser.Dir(t)
			if err := os.Chmod(mine, 0o700); err != nil {
				t.Fatal(err)
			}
			otheruser.Do(t, prepare, tmp, mine)
			for _, dir := range []string{"/run", "/run/deep"} {
				l, err := Local(tmp+dir+"/authz.sock", false)
				if err == nil {
					l.Close()
					t.Errorf("%s: it listens", dir)
				} else if !strings.Contains(err.Error(), "uid 65534 (nobody)") {
					t.Errorf("%s: %v", dir, err)
				}
			}
			if left, err := os.ReadDir(mine); err != nil || len(left) > 0 {
				t.Errorf("made where it leads: %v %v", left, err)
			}
		})
	}
}

// TestAnotherUserCannotReachTheSocket: the real one tries.
func TestAnotherUserCannotReachTheSocket(t *testing.T) {
	otheruser.Need(t)
	dir := otheruser.Dir(t)
	l, err := Local(dir+"/run/authz.sock", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	otheruser.Fails(t, "ls $1/run", dir)
	otheruser.Fails(t, "test -e $1/run/authz.sock", dir)
	otheruser.Fails(t, "mv $1/run $1/run2", dir)
}
