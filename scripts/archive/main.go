// Command archive packs a folder into an archive, for scripts/release, and prints the archive's SHA-256
// checksum as sha256sum does:
//
//	archive TIME DIR FILE
//
// FILE ends in .tar.gz or .zip. The same files make the same bytes: names are in order, every file has
// the given TIME (RFC 3339) and belongs to root, and its mode is 755 or 644.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: archive TIME DIR FILE")
	}
	modified, err := time.Parse(time.RFC3339, args[0])
	if err != nil {
		return err
	}
	dir, file := args[1], args[2]
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = errors.Join(pack(dir, format(io.MultiWriter(out, sum), file), modified.UTC()), out.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, err = fmt.Fprintf(stdout, "%x  %s\n", sum.Sum(nil), filepath.Base(file))
	return err
}

// archive is an archive that is written.
type archive interface {
	// add begins a file or a folder; the next writes are the content of the file.
	add(name string, info fs.FileInfo, modified time.Time) (io.Writer, error)
	Close() error
}

// format returns the archive that fits the name of a file, or nil.
func format(w io.Writer, file string) archive {
	switch {
	case strings.HasSuffix(file, ".tar.gz"):
		compressed, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
		return &tarball{Writer: tar.NewWriter(compressed), gzip: compressed}
	case strings.HasSuffix(file, ".zip"):
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
			return flate.NewWriter(w, flate.BestCompression)
		})
		return zipFile{z}
	}
	return nil
}

// pack writes the folder with all that it contains to the archive, and closes the archive.
func pack(dir string, a archive, modified time.Time) error {
	if a == nil {
		return errors.New("the name must end in .tar.gz or .zip")
	}
	top := filepath.Base(dir)
	// WalkDir goes in lexical order.
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := path.Join(top, filepath.ToSlash(relative))
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", file)
		}
		w, err := a.add(name, info, modified)
		if err != nil || info.IsDir() {
			return err
		}
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, in)
		return errors.Join(err, in.Close())
	})
	return errors.Join(err, a.Close())
}

// mode returns 0755 for folders and programs, and 0644 for other files.
func mode(info fs.FileInfo) fs.FileMode {
	if info.IsDir() || info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

type tarball struct {
	*tar.Writer
	gzip *gzip.Writer
}

func (t *tarball) add(name string, info fs.FileInfo, modified time.Time) (io.Writer, error) {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(mode(info)), ModTime: modified,
		Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
	}
	if info.IsDir() {
		header.Typeflag, header.Name, header.Size = tar.TypeDir, name+"/", 0
	}
	return t, t.WriteHeader(header)
}

func (t *tarball) Close() error { return errors.Join(t.Writer.Close(), t.gzip.Close()) }

type zipFile struct{ *zip.Writer }

func (z zipFile) add(name string, info fs.FileInfo, modified time.Time) (io.Writer, error) {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified}
	if info.IsDir() {
		header.Name, header.Method = name+"/", zip.Store
		header.SetMode(mode(info) | fs.ModeDir)
	} else {
		header.SetMode(mode(info))
	}
	return z.CreateHeader(header)
}
