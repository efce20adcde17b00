/** A backup that cannot be taken or restored as things stand, with the way out in its message. */
export class Unfit extends Error {}
