package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// behaviour is what the receiver is told to do. Times is how many requests it holds
// for, 0 all.
type behaviour struct {
	Times      int
	Code       int   // of gRPC, 0 answers
	Status     int   // of HTTP, 0 answers
	RetryAfter int   // milliseconds over gRPC, seconds over HTTP
	Delay      int   // milliseconds before anything
	Take       bool  // take what is then refused all the same
	Rejected   int64 // points, said of what was taken
	Says       int   // bytes of text, said of what was taken
	Token      string
}

// series is what the receiver knows of one.
type series struct {
	Name        string
	Attributes  map[string]string // values as JSON
	Resource    map[string]string
	Value       float64
	Temporality string
	Monotonic   bool
	Unit        string
	Start, Time uint64
	Fell        int // a cumulative value below the one before it
}

type receiver struct {
	collectorpb.UnimplementedMetricsServiceServer

	mu       sync.Mutex
	behaves  behaviour
	series   map[string]*series
	requests int
	largest  int
	headers  map[string][]string
	journal  *os.File // nil: what is taken ends with the process
}

func newReceiver() *receiver { return &receiver{series: map[string]*series{}} }

// next is the behaviour of a request, and counts it.
func (r *receiver) next(headers map[string][]string, size int) behaviour {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.headers, r.largest = headers, max(r.largest, size)
	b := r.behaves
	if b.Times > 0 {
		if r.behaves.Times--; r.behaves.Times == 0 {
			r.behaves = behaviour{Token: b.Token}
		}
	}
	return b
}

// Export implements the gRPC service.
func (r *receiver) Export(ctx context.Context, request *collectorpb.ExportMetricsServiceRequest) (*collectorpb.ExportMetricsServiceResponse, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	b := r.next(headers, proto.Size(request))
	time.Sleep(time.Duration(b.Delay) * time.Millisecond)
	if b.Token != "" && (len(headers.Get("authorization")) != 1 || headers.Get("authorization")[0] != b.Token) {
		return nil, status.Error(codes.Unauthenticated, "you sent "+strings.Join(headers.Get("authorization"), ","))
	}
	if b.Code != 0 {
		if b.Take {
			r.take(request)
		}
		s := status.New(codes.Code(b.Code), "you sent "+strings.Join(headers.Get("authorization"), ","))
		if b.RetryAfter > 0 {
			s, _ = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(b.RetryAfter) * time.Millisecond)})
		}
		return nil, s.Err()
	}
	r.take(request)
	return answer(b), nil
}

func answer(b behaviour) *collectorpb.ExportMetricsServiceResponse {
	response := &collectorpb.ExportMetricsServiceResponse{}
	if b.Rejected > 0 || b.Says > 0 {
		response.PartialSuccess = &collectorpb.ExportMetricsPartialSuccess{RejectedDataPoints: b.Rejected, ErrorMessage: strings.Repeat("!", max(b.Says, 8))}
	}
	return response
}

// post is the same over HTTP.
func (r *receiver) post(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	request := &collectorpb.ExportMetricsServiceRequest{}
	if err != nil || q.URL.Path != "/v1/metrics" || q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, request) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	b := r.next(q.Header, len(body))
	time.Sleep(time.Duration(b.Delay) * time.Millisecond)
	if b.Token != "" && q.Header.Get("Authorization") != b.Token {
		http.Error(w, "you sent "+q.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	if b.Status != 0 {
		if b.Take {
			r.take(request)
		}
		if b.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(b.RetryAfter))
		}
		w.Header().Set("Location", "http://127.0.0.1:1/stolen")
		http.Error(w, "you sent "+q.Header.Get("Authorization"), b.Status)
		return
	}
	r.take(request)
	response, _ := proto.Marshal(answer(b))
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(response)
}

func (r *receiver) take(request *collectorpb.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal != nil {
		if err := r.record(request); err != nil {
			log.Fatal(err)
		}
	}
	r.count(request)
}

func (r *receiver) count(request *collectorpb.ExportMetricsServiceRequest) {
	for _, resource := range request.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, metric := range scope.Metrics {
				sum := metric.GetSum()
				for _, p := range sum.GetDataPoints() {
					r.add(metric, sum, p, values(resource.GetResource().GetAttributes()))
				}
			}
		}
	}
}

func (r *receiver) add(metric *metricspb.Metric, sum *metricspb.Sum, p *metricspb.NumberDataPoint, resource map[string]string) {
	attributes := values(p.Attributes)
	names := make([]string, 0, len(attributes))
	for name, value := range attributes {
		names = append(names, name+"="+value)
	}
	sort.Strings(names)
	key := metric.Name + " " + strings.Join(names, " ")
	s := r.series[key]
	if s == nil {
		s = &series{Name: metric.Name, Attributes: attributes, Resource: resource, Unit: metric.Unit, Monotonic: sum.IsMonotonic}
		r.series[key] = s
	}
	if sum.AggregationTemporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
		s.Temporality = "delta"
		s.Value += p.GetAsDouble()
	} else {
		s.Temporality = "cumulative"
		if p.GetAsDouble() < s.Value {
			s.Fell++
		}
		s.Value = p.GetAsDouble()
	}
	s.Start, s.Time = p.StartTimeUnixNano, p.TimeUnixNano
}

func values(attributes []*commonpb.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range attributes {
		var value any = a.Value.GetStringValue()
		if b, ok := a.Value.Value.(*commonpb.AnyValue_BoolValue); ok {
			value = b.BoolValue
		}
		text, _ := json.Marshal(value)
		m[a.Key] = string(text)
	}
	return m
}

// control is where tests ask and tell.
func (r *receiver) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /received", func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		all := make([]*series, 0, len(r.series))
		for _, s := range r.series {
			all = append(all, s)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Series": all, "Requests": r.requests, "Headers": r.headers, "Largest": r.largest})
	})
	mux.HandleFunc("GET /metrics", r.text)
	mux.HandleFunc("POST /behave", func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.behaves = behaviour{}
		if err := json.NewDecoder(q.Body).Decode(&r.behaves); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	return mux
}
