import { testImages } from "../conformance/images.ts";
import { imagePlace } from "./local-places.ts";

testImages(imagePlace);
