package point

// Allowed gives what a user who is not root needs of the storage for a verb.
func Allowed(verb string) string {
	const head = "# OpenZFS, for a user that is not root, on the datasets of the server.\n"
	switch verb {
	case "snapshot":
		return head + "# the snapshots and their marks; without snapshot there are none, without userprop they say nothing of themselves\nzfs allow -u plumb snapshot,userprop tank/db\n"
	case "prune":
		return head + "# a snapshot is renamed, looked at again, and destroyed; without any of them nothing is destroyed\nzfs allow -u plumb destroy,rename,create,mount tank/db\n"
	case "protect run":
		return head + "# points are taken and pruned; a policy that drills needs root\nzfs allow -u plumb snapshot,userprop,destroy,rename,create,mount tank/db\n"
	case "protect hold":
		return "# Nothing of the storage: it is noted in the point's file, which only root may write.\n"
	case "clone list":
		return "# Nothing of the storage: it reads what is noted of the clones, which only root may.\n"
	case "replicate":
		return head + "# what is sent, and the bookmarks that the next increment begins from\nzfs allow -u plumb send,bookmark,destroy tank/db\n" +
			"# and on the dataset that holds the target's (made beforehand by root), for the user who receives\nzfs allow -u plumb receive,create,mount,userprop tank2/copies\n" +
			"# --verify at the target needs root there.\n"
	}
	return "# OpenZFS: plumb " + verb + " has to do with mounts of clones and with their servers, which only root may touch: no zfs allow gives that.\n"
}
