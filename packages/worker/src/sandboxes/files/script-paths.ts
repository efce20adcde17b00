/** Where the worker's scripts see the layers of the overlay. */
export const layerPaths = { upper: "/.outrider/upper", lower: "/.outrider/lower" } as const;
/** Where they see the files of an image. */
export const imageRootPath = "/.outrider/root";
/** The mount point of the script state folder inside the sandbox. */
export const scriptStatePath = "/.outrider/state";
