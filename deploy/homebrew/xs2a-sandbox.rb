# For a Homebrew tap. `make release-check` writes it with the version and checksum of the archive to dist/xs2a-sandbox.rb.
class Xs2aSandbox < Formula
  include Language::Python::Virtualenv

  desc "Sandbox that answers like a bank's PSD2 XS2A interface"
  homepage "https://pypi.org/project/xs2a-sandbox/"
  url "https://files.pythonhosted.org/packages/source/x/xs2a-sandbox/xs2a_sandbox-VERSION.tar.gz"
  sha256 "SHA256"
  license "Apache-2.0"

  depends_on "python@3.13"

  def install
    virtualenv_create(libexec, "python3.13", without_pip: true)
    pip = ["python3.13", "-m", "pip", "--python=#{libexec}/bin/python", "install", "--no-cache-dir"]
    system(*pip, "--require-hashes", "--requirement", "requirements/run.txt")
    system(*pip, "--no-deps", ".")
    bin.install_symlink libexec/"bin/xs2a-sandbox"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/xs2a-sandbox --version")
    system bin/"xs2a-sandbox", "lint"
  end
end
