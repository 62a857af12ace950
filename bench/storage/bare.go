package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The bare process is what a plugin cannot do without: gRPC over a unix socket between
// two processes, the same rows asked of the database directly, an answer of the size of
// a plugin's. It decodes no row. Its server is tuned as a plugin's.

// asBare makes this binary the bare process; it holds a bareSettings.
const asBare = "AUTHZ_BENCH_BARE"

// bareAnswer is about what 90 grants take on the wire, their roles known.
const bareAnswer = 8 << 10

type bareSettings struct{ Driver, Database, Socket string }

// bareQuestion without a user is answered without the database.
type bareQuestion struct {
	User     string
	Subjects []string
}

const bareMethod = "/bench.Bare/Read"

func openDirect(ctx context.Context, driver, database string) (direct, error) {
	if driver == "sqlite" {
		return openSQLite(ctx, database)
	}
	return openPostgres(ctx, database)
}

func beBare(ctx context.Context, settings string) error {
	debug.SetGCPercent(400)
	var s bareSettings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return err
	}
	database, err := openDirect(ctx, s.Driver, s.Database)
	if err != nil {
		return err
	}
	defer database.close()
	listener, err := net.Listen("unix", s.Socket)
	if err != nil {
		return err
	}
	answer := make([]byte, bareAnswer)
	server := grpc.NewServer(grpc.NumStreamWorkers(8))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Bare", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Read",
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var ask wrapperspb.BytesValue
			var q bareQuestion
			if err := errors.Join(decode(&ask), json.Unmarshal(ask.GetValue(), &q)); err != nil {
				return nil, err
			}
			if q.User != "" {
				if err := database.read(ctx, q.User, q.Subjects); err != nil {
					return nil, err
				}
			}
			return wrapperspb.Bytes(answer), nil
		}}}}, nil)
	defer context.AfterFunc(ctx, server.Stop)()
	return server.Serve(listener)
}

// bare is the bench's end of the bare process.
type bare struct {
	process *exec.Cmd
	conn    *grpc.ClientConn
}

func startBare(ctx context.Context, o Options) (*bare, error) {
	socket := filepath.Join(o.Dir, "bare")
	settings, err := json.Marshal(bareSettings{o.Driver, o.Database, socket})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bare{process: exec.Command(self)}
	b.process.Env = append(os.Environ(), asBare+"="+string(settings))
	b.process.Stderr = os.Stderr
	if b.conn, err = grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return nil, err
	}
	if err := b.process.Start(); err != nil {
		return nil, errors.Join(err, b.conn.Close())
	}
	for range 200 {
		if err = b.read(ctx, "", nil); err == nil {
			return b, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("the bare process does not answer: %w", err), b.stop())
}

func (b *bare) read(ctx context.Context, user string, subjects []string) error {
	ask, err := json.Marshal(bareQuestion{user, subjects})
	if err != nil {
		return err
	}
	var answer wrapperspb.BytesValue
	return b.conn.Invoke(ctx, bareMethod, wrapperspb.Bytes(ask), &answer)
}

func (b *bare) stop() error {
	err := errors.Join(b.conn.Close(), b.process.Process.Kill())
	_ = b.process.Wait() // of which the kill is no news
	return err
}
