// Package load sends requests to an HTTP server over keep-alive connections on loopback. Each
// connection sends a prebuilt request, reads the whole response, and sends the next request. It
// checks only the status and the length of a response, so that the server is the bottleneck and not
// the load generator.
package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
)

const (
	// Connections is the default number of connections.
	Connections = 64
	// grace is how long to wait for outstanding responses at the end of a run.
	grace = 30 * time.Second
	// longestAnswer is the maximum length of a response with its headers, in bytes.
	longestAnswer = 32 << 10
)

// Job describes what to send. Set the field For, the field Count, or both. The run ends when either
// limit is reached. Each element of Requests is a complete HTTP/1.1 request.
type Job struct {
	Address  string
	Requests [][]byte
	Once     bool          // send each request at most once; otherwise start again after the last
	For      time.Duration // 0 for no limit
	Count    int64         // 0 for no limit
	Rate     int           // requests per second over all connections; 0 for no limit

	Connections int // 0 for the default
}

// Result is the result of a run. If Run returns no error, every request that was sent received a
// response.
type Result struct {
	Acknowledged int64         // answered with 200
	Rejected     int64         // answered with any other status
	Rejection    string        // the first response with another status
	Elapsed      time.Duration // from the first request to the last response
	Median, P99  time.Duration // response times of acknowledged requests
	RejectedP99  time.Duration // response times of rejected requests
}

// Rate returns the number of acknowledged requests per second.
func (r Result) Rate() float64 { return float64(r.Acknowledged) / r.Elapsed.Seconds() }

// run contains the state that all connections share.
type run struct {
	Job
	next, acknowledged, rejected atomic.Int64
	over                         atomic.Bool
	rejection                    atomic.Pointer[string]
	start                        time.Time
	took, turnedAway             [][]time.Duration // one slice for each connection
}

// Run opens the connections, sends requests, and returns when all responses have arrived. It returns an
// error if a connection fails, but not if the server rejects requests.
func Run(ctx context.Context, j Job) (Result, error) {
	if len(j.Requests) == 0 || j.For <= 0 && j.Count <= 0 {
		return Result{}, errors.New("a load needs requests and an end")
	}
	j.Connections = cmp.Or(j.Connections, Connections)
	if j.Once && (j.Count <= 0 || j.Count > int64(len(j.Requests))) {
		j.Count = int64(len(j.Requests))
	}
	r := &run{Job: j}
	conns, err := r.connect(ctx)
	defer func() {
		for _, c := range conns {
			c.Close() //nolint:errcheck // the run is over
		}
	}()
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { // stop waiting for responses
		for _, c := range conns {
			c.SetDeadline(clock.System{}.Now()) //nolint:errcheck // a closed connection needs none
		}
	})()
	if j.For > 0 {
		defer time.AfterFunc(j.For, func() { r.over.Store(true) }).Stop()
		defer time.AfterFunc(j.For+grace, func() { cancel(errors.New("answers are still missing after the end of the run")) }).Stop()
	}
	r.start, r.took, r.turnedAway = clock.System{}.Now(), make([][]time.Duration, len(conns)), make([][]time.Duration,
		len(conns))
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			if err := r.converse(ctx, c, i); err != nil {
				r.over.Store(true)
				cancel(fmt.Errorf("a connection failed: %w", err))
			}
		})
	}
	all.Wait()
	result := Result{
		Acknowledged: r.acknowledged.Load(),
		Rejected:     r.rejected.Load(),
		Elapsed:      clock.System{}.Now().Sub(r.start),
	}
	result.Median, result.P99 = quantiles(r.took)
	_, result.RejectedP99 = quantiles(r.turnedAway)
	if text := r.rejection.Load(); text != nil {
		result.Rejection = *text
	}
	return result, context.Cause(ctx)
}

func quantiles(took [][]time.Duration) (median, p99 time.Duration) {
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		return 0, 0
	}
	return all[len(all)/2], all[len(all)*99/100]
}

func (r *run) connect(ctx context.Context) (conns []net.Conn, err error) {
	dialer := net.Dialer{Timeout: grace}
	for range r.Connections {
		c, err := dialer.DialContext(ctx, "tcp", r.Address)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// converse sends requests on connection n, one after another, until the run ends.
func (r *run) converse(ctx context.Context, c net.Conn, n int) error {
	buf := make([]byte, longestAnswer)
	for !r.over.Load() {
		i := r.next.Add(1) - 1
		if r.Count > 0 && i >= r.Count {
			return nil
		}
		from, err := r.await(ctx, i)
		if err != nil {
			return err
		}
		sent := clock.System{}.Now()
		if _, err := c.Write(r.Requests[i%int64(len(r.Requests))]); err != nil {
			return err
		}
		answer, err := read(c, buf)
		if err != nil {
			return err
		}
		now := clock.System{}.Now()
		if string(answer[:len(okLine)]) == okLine {
			r.took[n] = append(r.took[n], now.Sub(from))
			r.acknowledged.Add(1)
			continue
		}
		r.turnedAway[n] = append(r.turnedAway[n], now.Sub(sent))
		r.rejected.Add(1)
		text := string(answer)
		r.rejection.CompareAndSwap(nil, &text)
	}
	return nil
}

// await waits until request i is due and returns the time from which its latency is measured. If the
// request was already due, because no connection was free in time, this is the time when it was due.
// Otherwise, it is the current time.
func (r *run) await(ctx context.Context, i int64) (from time.Time, err error) {
	now := clock.System{}.Now()
	if r.Rate == 0 {
		return now, nil
	}
	due := r.start.Add(time.Duration(float64(i) / float64(r.Rate) * float64(time.Second)))
	if !now.Before(due) {
		return due, nil
	}
	select {
	case <-time.After(due.Sub(now)):
		return clock.System{}.Now(), nil
	case <-ctx.Done():
		return now, context.Cause(ctx)
	}
}

const okLine = "HTTP/1.1 200"

var (
	headEnd    = []byte("\r\n\r\n")
	lengthName = []byte("\r\nContent-Length: ")
)

func read(c net.Conn, buf []byte) ([]byte, error) {
	whole := 0 // the response's length, known once its head has arrived
	for filled := 0; ; {
		if filled == len(buf) {
			return nil, fmt.Errorf("an answer is longer than %d bytes", len(buf))
		}
		n, err := c.Read(buf[filled:])
		if err != nil {
			return nil, err
		}
		filled += n
		if whole == 0 {
			if whole, err = length(buf[:filled]); err != nil {
				return nil, err
			}
		}
		switch {
		case whole == 0 || filled < whole:
		case filled > whole:
			return nil, errors.New("an answer is longer than its Content-Length")
		default:
			return buf[:filled], nil
		}
	}
}

// length returns the length of a response including its head, or 0 if the head is still incomplete.
func length(answer []byte) (int, error) {
	end := bytes.Index(answer, headEnd)
	if end < 0 {
		return 0, nil
	}
	_, rest, ok := bytes.Cut(answer[:end+2], lengthName)
	digits, _, _ := bytes.Cut(rest, headEnd[:2])
	body, err := strconv.Atoi(string(digits))
	if !ok || err != nil || body < 0 {
		return 0, errors.New("an answer has no Content-Length")
	}
	return end + len(headEnd) + body, nil
}
