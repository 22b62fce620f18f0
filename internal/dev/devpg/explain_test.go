package devpg

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// If another program takes the port after the supervisor has checked it, the error is still a
// portTaken after being sent through the pipe.
func TestPortTakenAfterCheck(t *testing.T) {
	l := layout(newFolder(t))
	if err := os.Mkdir(string(l), 0o700); err != nil {
		t.Fatal(err)
	}
	j := job{Options: Options{Port: 5433}}
	log := "LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\nFATAL:  could not create any TCP/IP sockets\n"
	write(t, l.log(), log)
	err := l.explain(errors.New("could not start postgres"), j, binaries{major: 15})
	wantParts(t, err, "port 5433") // its type is checked below

	text, jsonErr := json.Marshal(report{Failure: err.Error(), PortTaken: errors.As(err, new(portTaken))})
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if !errors.As(r.failure(), new(portTaken)) || r.failure().Error() != err.Error() {
		t.Errorf("got %v from the pipe", r.failure())
	}
}

func TestOtherStartErrorsAreNotPortTaken(t *testing.T) {
	l := layout(newFolder(t))
	err := l.explain(errors.New("no log at all"), job{}, binaries{major: 15})
	wantParts(t, err, "no log at all")
	if errors.As(err, new(portTaken)) || errors.As(report{Failure: "another"}.failure(), new(portTaken)) {
		t.Error("the error is a portTaken")
	}
}
