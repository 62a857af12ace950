package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// remember counts what a process before has taken. What it had not written whole when
// it was killed it had not answered either.
func (r *receiver) remember(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	r.journal = file
	whole := int64(0)
	for {
		var length uint32
		err := binary.Read(file, binary.BigEndian, &length)
		message := make([]byte, length)
		if err == nil {
			_, err = io.ReadFull(file, message)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		request := &collectorpb.ExportMetricsServiceRequest{}
		if err := errors.Join(err, proto.Unmarshal(message, request)); err != nil {
			return err
		}
		r.count(request)
		whole += 4 + int64(length)
	}
	if err := file.Truncate(whole); err != nil {
		return err
	}
	_, err = file.Seek(whole, io.SeekStart)
	return err
}

// record keeps a request for the next process, before it is answered.
func (r *receiver) record(request *collectorpb.ExportMetricsServiceRequest) error {
	message, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	_, err = r.journal.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}
