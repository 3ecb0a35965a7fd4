// Package replicate sends points to other pools and hosts, and receives them.
//
// What a command line needs:
//
//	target, err := replicate.ParseTarget("ssh://backup@vault/tank/copies") // or "tank2/copies"
//	r := replicate.Replicator{Keeper: keeper, Fuse: the ZFS of this host is zfs-fuse}
//	result, err := r.Run(ctx, point, target, replicate.Options{})          // plumb replicate POINT TARGET
//	drill, err := r.Verify(ctx, point, target, prover)                     // plumb replicate POINT TARGET --verify
//	err = replicate.Receiver{...}.Receive(ctx, command, in, out)            // plumb receive --only DATASET [--verify]
//
// The result is given with an error too, as far as it came. The same call goes on after any
// failure, kill or cut. Receive is the forced command of an SSH key: command is SSH_ORIGINAL_COMMAND, in and
// out are the standard streams.
//
// The target is a dataset of our own, which says so in a property and is made when it is missing. Below it lies
// one dataset for each of the point's, mounted nowhere and read-only. Nothing there is ever
// overwritten or rolled back. In which way a dataset is sent (raw or not, and with which flags) is written on
// the target before the first byte, and stays so.
//
// What is in common is found by GUID: a snapshot or, on OpenZFS, a bookmark at the source. Nothing else is
// remembered, so nothing can be remembered wrongly. While a point is sent it is held, under the name [Target.Owner].
// With zfs-fuse, which has no bookmarks, the newest point that was sent stays held.
package replicate
