package journal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/blob/s3blob"

	"github.com/greenwright/greenwright/vcs"
)

// ValidateURL says what is wrong with the place of an archive: an absolute
// directory, file:///directory, or s3://bucket?region=…, whose further
// parameters are those of gocloud.dev/blob/s3blob (endpoint, use_path_style,
// disable_https, profile, prefix …).
func ValidateURL(place string) error {
	_, err := parsePlace(place)
	return err
}

// parsePlace reads an archive's place: a directory is an URL without a scheme.
func parsePlace(place string) (*url.URL, error) {
	bad := func(why string) error {
		return fmt.Errorf("%w: %q %s: want an absolute directory, file:///directory or s3://bucket?region=…", vcs.ErrInvalid, place, why)
	}
	if filepath.IsAbs(place) {
		return &url.URL{Path: filepath.Clean(place)}, nil
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, bad("is no URL")
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("%w: the URL of a bucket holds no credentials: they come from the environment (AWS_ACCESS_KEY_ID …)", vcs.ErrInvalid)
	case u.Scheme == "file" && (u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) || u.RawQuery != ""):
		return nil, bad("names no absolute directory, or has parameters")
	case u.Scheme == "file":
		return &url.URL{Path: filepath.Clean(u.Path)}, nil
	case u.Scheme == "s3" && (u.Host == "" || strings.Trim(u.Path, "/") != ""):
		return nil, bad("names no bucket, or something in it (use ?prefix=…/)")
	case u.Scheme == "s3", u.Scheme == "mem":
		return u, nil
	}
	return nil, bad("is neither")
}

// OpenArchive opens the archive at a place as [ValidateURL] has it; mem:// is
// one in memory, for tests. A directory is made. The bucket of a server is not
// asked for anything yet: see [Archive.Check].
func OpenArchive(ctx context.Context, place string) (*Archive, error) {
	u, err := parsePlace(place)
	if err != nil {
		return nil, err
	}
	var a *Archive
	switch u.Scheme {
	case "":
		a, err = openDir(u.Path)
	case "mem":
		a = &Archive{bucket: memblob.OpenBucket(nil)}
	default:
		a, err = openS3(ctx, u)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	return a, nil
}

// openS3 opens a bucket, or what is below a prefix of it.
func openS3(ctx context.Context, u *url.URL) (*Archive, error) {
	q := u.Query()
	prefix := q.Get("prefix")
	q.Del("prefix")
	plainURL := *u
	plainURL.RawQuery = q.Encode()
	bucket, err := new(s3blob.URLOpener).OpenBucketURL(ctx, &plainURL)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, strings.TrimSuffix(prefix, "/")+"/")
	}
	return &Archive{bucket: bucket}, nil
}

const dirPerm = 0o700 // journals tell of private code

func openDir(dir string) (*Archive, error) {
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: dirPerm, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, err
	}
	return &Archive{bucket: bucket, dir: dir}, nil
}

// tempPrefix begins the name of a file that is being written.
const tempPrefix = ".tmp-"

// writeDurably writes a file in a folder of dir: whole or not at all, synced
// before it takes its name, private. The directory driver would do without the
// second, and leave the third to the umask.
func writeDurably(ctx context.Context, dir, folder, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := filepath.Join(dir, folder)
	made := false
	if err := os.Mkdir(at, dirPerm); err == nil {
		made = true
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	tmp, err := os.CreateTemp(at, tempPrefix)
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(at, name))
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(tmp.Name())))
	}
	if made {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return syncDir(at)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// syncDir makes the names in a directory durable (fsync(2)).
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
