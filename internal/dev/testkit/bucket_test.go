package testkit

import (
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/pingpost/pingpost/internal/platform/journal"
)

// Object lock protects an entry of the erasure journal, even from a user with all permissions.
func TestBucketLocksEntries(t *testing.T) {
	t.Parallel()
	b := NewBucket(t)
	j, err := journal.Open(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), 1, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	stored, err := b.root.StatObject(t.Context(), bucketName, bucketPrefix+b.Names(t)[0], minio.StatObjectOptions{})
	if err != nil || stored.VersionID == "" {
		t.Fatalf("got version %q, %v", stored.VersionID, err)
	}
	err = b.root.RemoveObject(t.Context(), bucketName, stored.Key, minio.RemoveObjectOptions{VersionID: stored.VersionID})
	if code := minio.ToErrorResponse(err).Code; code != "AccessDenied" && code != "InvalidRequest" {
		t.Errorf("removing the version: got %v", err)
	}
}
