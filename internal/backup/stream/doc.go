// Package stream takes a stream to a store in chunks, and brings it back. It needs the same
// memory for any number of bytes: so many buffers as there are workers and two more, and what each worker
// packs and encrypts into.
//
// What is written is whole objects that are kept in memory until the store has them, so each
// can be sent again. What is read is checked against a signed manifest, decrypted and unpacked before
// a byte of it is passed on, in the order of the stream.
package stream

// Workers is how many objects are on their way at once, unless another number is asked for.
const Workers = 6
