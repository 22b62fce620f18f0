package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// shrink encodes a screenshot as a PNG file with 256 colours. This makes the file two thirds smaller.
// Pages use few colours, so only some shades at the edges of letters are lost.
func shrink(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	box := full.Bounds()
	counts := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			counts[rgba(full, x, y)]++
		}
	}
	frequent := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		frequent = append(frequent, c)
	}
	slices.SortFunc(frequent, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(shade(a), shade(b)))
	})
	palette := choose(frequent)
	index := make(map[color.RGBA]uint8, len(counts))
	for _, c := range frequent {
		index[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			small.SetColorIndex(x, y, index[rgba(full, x, y)])
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}

// choose selects up to 256 colours. It first selects one colour from each group of similar colours, so
// that a small icon keeps its colour. It then adds the most frequent of the other colours.
func choose(frequent []color.RGBA) color.Palette {
	var first, others color.Palette
	seen := map[uint32]bool{}
	for _, c := range frequent {
		if group := shade(c) & 0xe0e0e0; !seen[group] {
			seen[group] = true
			first = append(first, c)
		} else {
			others = append(others, c)
		}
	}
	all := append(first, others...)
	return all[:min(256, len(all))]
}

func rgba(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}

// shade returns the colour as a number. Colours that are equally frequent are sorted by this number, so
// that a page always produces the same file.
func shade(c color.RGBA) uint32 {
	return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B)
}
