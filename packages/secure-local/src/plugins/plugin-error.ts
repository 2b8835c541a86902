// Why a plugin is not there, or did not answer; the message is fit for the model and the user.

export class PluginError extends Error {
  override readonly name = "PluginError";
}
