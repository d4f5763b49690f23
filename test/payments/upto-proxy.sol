// SPDX-License-Identifier: MIT
// What payers of the scheme `upto` sign for: the facilitator they name takes, once, at most what they permitted, to the
// receiver they name. The real one stands at the same address on public chains; this one has its interface.
pragma solidity ^0.8.20;

interface Permit2 {
    struct Permitted {
        address token;
        uint256 amount;
    }

    struct Permit {
        Permitted permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct Transfer {
        address to;
        uint256 requestedAmount;
    }

    function permitWitnessTransferFrom(
        Permit memory permit, Transfer calldata transfer, address owner, bytes32 witness,
        string calldata witnessTypes, bytes calldata signature
    ) external;
}

contract UptoProxy {
    address public constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    error AmountExceedsPermitted();
    error PaymentTooEarly();
    error UnauthorizedFacilitator();

    event Settled();

    function settle(
        Permit2.Permit calldata permit, uint256 amount, address owner, Witness calldata witness,
        bytes calldata signature
    ) external {
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        bytes32 signed =
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter));
        Permit2(PERMIT2).permitWitnessTransferFrom(
            permit, Permit2.Transfer(witness.to, amount), owner, signed, WITNESS_TYPE_STRING, signature
        );
        emit Settled();
    }
}
